"""Engines: one file each; `--engine NAME` finds them by their registered names."""
