"""The built-in readers, one format a file; importing a module registers its readers."""
