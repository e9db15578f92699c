"""Compiled inner loops, each in a file of its own that is imported only when it is needed."""
