"""The plain data every room shares: sequences, their encodings, results. No torch here."""

from headscope.types.encoded import Encoded, TokenKind
from headscope.types.facts import Facts, FactsBuilder
from headscope.types.result import Result, Skipped
from headscope.types.sequence import Dependencies, Frame, Mention, Sequence, Word
from headscope.types.stack import STACKS, HeadId, Stack

__all__ = [
    "STACKS",
    "Dependencies",
    "Encoded",
    "Facts",
    "FactsBuilder",
    "Frame",
    "HeadId",
    "Mention",
    "Result",
    "Sequence",
    "Skipped",
    "Stack",
    "TokenKind",
    "Word",
]
