"""The version of the package and of the run format it writes."""

__version__ = "0.1.0"

#: Raised by one whenever a run written by this version could mislead an older reader.
RUN_FORMAT = 1
