"""The kinds of steps, one per file."""
