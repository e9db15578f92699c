"""Which shape a head's attention maps have, and how often."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field, field_validator
from torch import Tensor

from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.network import network_at
from headscope.measures.patterns.seeing import seen
from headscope.models import StackLayout, View
from headscope.stats import wilson_interval
from headscope.types import Result
from headscope.values import Counts

#: Images in one call of the network: more only costs memory.
_CHUNK = 512


def is_drawn(sequence: str, n_wanted: int, n_sequences: int) -> bool:
    """Whether a sequence is among the `n_wanted` or so of a corpus, by a hash of its id.

    A sequence is drawn if its hash, as a number from 0 to 1, is below n_wanted / n_sequences: the
    same ones however the corpus is cut into shards and batches, about as many as wanted, and all
    where there are no more than that (or their number is not known, 0).

    >>> sum(is_drawn(f"s{i}", 100, 1000) for i in range(1000))
    101
    """
    if n_wanted == 0 or n_sequences <= n_wanted:
        return True
    name = f"patterns/{sequence}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(name, digest_size=8)
    return int.from_bytes(digest.digest(), "big") * n_sequences < n_wanted * 2**64


def pattern_counts(scores: Float[Tensor, "batch head pattern"]) -> Int[Tensor, "head pattern"]:
    """How many maps of each head have each shape as their highest score.

    >>> pattern_counts(torch.tensor([[[0.1, 0.9, 0, 0, 0]], [[0.7, 0.2, 0, 0, 0]]]))
    tensor([[1, 1, 0, 0, 0]])
    """
    named = scores.argmax(dim=-1)
    return torch.nn.functional.one_hot(named, scores.shape[-1]).sum(dim=0)


@MEASURES.register("patterns")
class PatternShares(LayerMeasure):
    """The share of a head's attention maps that are vertical, diagonal, both, block or neither.

        share[pattern] = maps a convolutional network gives that name / maps looked at

    One map per sequence and head, cropped to its real tokens and resampled to 48 × 48 cells (mean
    over rows, sum over columns: rows still sum to 1), is named by a network of eight convolutions,
    which also sees how far columns and diagonals stand out (`rulers`) and where squares meet.
    The five shares of a head sum to 1, each with a 95 % Wilson interval; `n` is the number of
    sequences. Naming maps costs more than summing them, so about `sequences` of a larger corpus
    are looked at, chosen by a hash of their ids.

    A high share says what a head's maps look like, not what the head is for: `heterogeneous` maps
    are only an upper bound on heads with something linguistic to them, as the paper stresses, and
    a map of equal weights is heterogeneous too. The interval speaks of the sample of sequences,
    not of the network's own mistakes: see `docs/patterns.md` for its confusion matrix. It is the
    dearest of all measures and runs only when asked for.

    Source: Kovaleva et al. 2019, §4.1, Figure 2. Departures: their 400 labelled maps and their
    network were never published; ours learns from made-up and real maps (`headscope patterns
    train`) and is tested on maps of other heads (`headscope patterns evaluate`), labelled by a rule
    that says from where on a column counts. Their maps are of one padded size, ours are cropped.
    """

    name: ClassVar[str] = "patterns"
    tables: ClassVar[tuple[str, ...]] = ("patterns",)
    default: ClassVar[bool] = False

    sequences: int = Field(256, ge=0, description="sequences to look at, about; 0 is all")
    weights: str = Field("", description="weights of a network of your own (safetensors)")

    @field_validator("weights")
    @classmethod
    def _readable(cls, path: str) -> str:
        """A wrong file is found before the pass begins."""
        network_at(path)
        return path

    def applies_to(self, stack: StackLayout) -> bool:
        """Cross-attention has no diagonal: its rows and columns are different texts."""
        return stack.stack != "cross"

    def observe(self, view: View) -> Counts:
        drawn = view.once(f"patterns/drawn/{self.sequences}", lambda: self._drawn(view))
        nothing = np.zeros((view.n_heads, len(PATTERNS)), np.int64)
        if not len(drawn):
            return Counts(nothing, nothing)
        lengths = view.queries.n_real[drawn]
        n_tokens = view.once(f"patterns/longest/{self.sequences}", lambda: int(lengths.max()))
        maps = view.pattern[drawn, :, :n_tokens, :n_tokens]
        network = network_at(self.weights).to(maps.device)
        n_texts = max(1, _CHUNK // view.n_heads)
        scores = torch.cat(
            [
                network(seen(some, n_real))
                for some, n_real in zip(
                    torch.split(maps, n_texts), torch.split(lengths, n_texts), strict=True
                )
            ]
        )
        counts = pattern_counts(scores.view(len(drawn), view.n_heads, -1))
        return Counts(counts.cpu().numpy(), nothing + len(drawn))

    def _drawn(self, view: View) -> Int[Tensor, " drawn"]:
        total = view.batch.facts.n_sequences
        ids = [e.sequence.id for e in view.batch.encoded]
        found = [i for i, name in enumerate(ids) if is_drawn(name, self.sequences, total)]
        return torch.tensor(found, dtype=torch.int64, device=view.pattern.device)

    def finish(self, total: Total) -> Result:
        names = ("stack", "layer", "head", "pattern", "share", "ci_low", "ci_high", "n")
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        for place, found in total.of(Counts):
            if found.trials is None:
                raise TypeError("pattern counts come with their trials")
            low, high = wilson_interval(found.counts, found.trials)
            heads, patterns = np.indices(found.shape)
            parts = {
                "stack": np.full(heads.size, place.stack),
                "layer": np.full(heads.size, place.layer),
                "head": heads,
                "pattern": np.array(PATTERNS)[patterns],
                "share": found.proportion,
                "ci_low": low,
                "ci_high": high,
                "n": found.trials,
            }
            for name, part in parts.items():
                columns[name].append(np.ravel(part))
        joined: dict[str, Any] = {
            name: np.concatenate(parts) if parts else [] for name, parts in columns.items()
        }
        return Result({"patterns": joined})
