"""Corpora: files read into annotated sequences, and sequences encoded for a tokenizer."""

from headscope.corpora.corpus import Corpus
from headscope.corpora.encoder import Dropped, Encoder, TooLong
from headscope.corpora.options import ReadOptions
from headscope.corpora.passages import shipped_corpus
from headscope.corpora.reader import READERS, Reader
from headscope.corpora.shuffled import ShuffledCorpus
from headscope.corpora.source import Source
from headscope.corpora.summary import CorpusSummary, FileSummary

__all__ = [
    "READERS",
    "Corpus",
    "CorpusSummary",
    "Dropped",
    "Encoder",
    "FileSummary",
    "ReadOptions",
    "Reader",
    "ShuffledCorpus",
    "Source",
    "TooLong",
    "shipped_corpus",
]
