"""A probe in training: its optimiser, its best weights so far, and when it has learnt enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headscope.probes.attention_probe import AttentionProbe
from headscope.probes.distance_probe import DistanceProbe
from headscope.probes.parse_batch import ParseBatch, WordMaps

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """How probes learn: Adam, and an end when held-out accuracy no longer rises."""

    learning_rate: float = 0.01
    max_epochs: int = 12
    patience: int = 2


class Student:
    """A probe that learns from batches, is examined after every epoch, and remembers its best.

    `reads` names the model whose maps it looks at; None if it looks at words only.
    """

    def __init__(
        self,
        name: str,
        probe: AttentionProbe | DistanceProbe,
        reads: str | None,
        schedule: Schedule,
    ) -> None:
        self.name, self.probe, self.reads, self.schedule = name, probe, reads, schedule
        self.optimizer = torch.optim.Adam(probe.parameters(), lr=schedule.learning_rate)
        self.best = _copy(probe)
        self.best_uas, self.best_epoch, self.n_epochs = -math.inf, 0, 0

    @property
    def done(self) -> bool:
        if self.n_epochs >= self.schedule.max_epochs:
            return True
        return self.n_epochs - self.best_epoch >= self.schedule.patience

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.probe.parameters())

    def scores(
        self, maps: Callable[[str], WordMaps], vectors: Tensor, batch: ParseBatch
    ) -> Float[Tensor, "batch unit unit"]:
        """score[dependent, candidate]."""
        if isinstance(self.probe, DistanceProbe):
            found: Tensor = self.probe(vectors, batch)
        else:
            found = self.probe(maps(self.reads or ""), vectors, batch)
        return found

    def learn(self, maps: Callable[[str], WordMaps], vectors: Tensor, batch: ParseBatch) -> None:
        """One step of Adam on the mean −ln p(gold head) of the words that count."""
        self.optimizer.zero_grad()
        scores = self.scores(maps, vectors, batch)
        loss = functional.cross_entropy(scores[batch.scored], batch.heads[batch.scored])
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    @torch.no_grad()
    def predict(
        self, maps: Callable[[str], WordMaps], vectors: Tensor, batch: ParseBatch
    ) -> Int[Tensor, "batch unit"]:
        """The most probable head of every word."""
        return self.scores(maps, vectors, batch).argmax(dim=-1)

    def examined(self, uas: float) -> None:
        """An epoch is over, with this accuracy on the held-out sentences."""
        self.n_epochs += 1
        if uas > self.best_uas:
            self.best_uas, self.best_epoch, self.best = uas, self.n_epochs, _copy(self.probe)

    def set_scale(self, spreads: Mapping[str, float]) -> None:
        """Tell a probe that reads maps how much they differ between candidates."""
        if isinstance(self.probe, AttentionProbe) and self.reads is not None:
            self.probe.set_scale(spreads[self.reads])
            self.best = _copy(self.probe)

    def graduate(self) -> None:
        """Go back to the best weights."""
        self.probe.load_state_dict(self.best)

    # --- checkpoints ------------------------------------------------------------------------

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that training needs to go on as if it had not stopped."""
        arrays: Arrays = {}
        for name, tensor in self.probe.state_dict().items():
            arrays[f"{self.name}/now/{name}"] = tensor.cpu().numpy()
            arrays[f"{self.name}/best/{name}"] = self.best[name].cpu().numpy()
        for name, parameter in self.probe.named_parameters():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                arrays[f"{self.name}/adam/{key}/{name}"] = value.cpu().numpy()
        known = {"best_uas": self.best_uas, "best_epoch": self.best_epoch}
        return arrays, {**known, "n_epochs": self.n_epochs}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]], told: Mapping[str, Any]) -> None:
        """The opposite of `to_arrays`."""
        self.best_uas, self.best_epoch = told["best_uas"], told["best_epoch"]
        self.n_epochs = told["n_epochs"]
        with torch.no_grad():
            for name, tensor in self.probe.state_dict().items():
                tensor.copy_(_tensor(arrays[f"{self.name}/now/{name}"]))
                self.best[name].copy_(_tensor(arrays[f"{self.name}/best/{name}"]))
        for name, parameter in self.probe.named_parameters():
            prefix, suffix = f"{self.name}/adam/", f"/{name}"
            keys = [k for k in arrays if k.startswith(prefix) and k.endswith(suffix)]
            self.optimizer.state[parameter] = {
                key.removeprefix(prefix).removesuffix(suffix): _tensor(arrays[key]) for key in keys
            }


def _copy(probe: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in probe.state_dict().items()}


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(array))
