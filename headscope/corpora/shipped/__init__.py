"""The corpus that comes with the package; see its README."""
