"""One file per section of a head's passport."""
