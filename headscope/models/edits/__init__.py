"""The edits headscope brings, one file each."""

from headscope.models.edits.mean import Mean
from headscope.models.edits.segment import InterOnly, IntraOnly
from headscope.models.edits.uniform import Uniform
from headscope.models.edits.zero import Zero

__all__ = ["InterOnly", "IntraOnly", "Mean", "Uniform", "Zero"]
