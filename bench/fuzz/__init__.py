"""Files that are almost right, or nothing at all: a reader reads them or refuses, no more."""
