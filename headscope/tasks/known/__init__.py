"""The tasks headscope brings."""
