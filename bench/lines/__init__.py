"""One file per hot path."""
