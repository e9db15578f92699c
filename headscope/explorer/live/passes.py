"""Texts that went through the model, with all maps in float16, the latest ones kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import UsageError
from headscope.explorer.limits import Limits
from headscope.explorer.live.predictions import predicted
from headscope.explorer.live.reading import typed
from headscope.figures.theme import STACK_TITLES
from headscope.models import EDITS, Edit, LoadedModel, Tap, View, collate, head_set
from headscope.types import Encoded, Stack

Maps = NDArray[np.float16]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """One text as one model read it, after its edits.

    `maps[stack][layer]` is [head, query, key] in float16; `outputs` are the vectors behind the
    last layer, a row per token (of the decoder, where there is one).
    """

    key: str
    encoded: Encoded
    maps: Mapping[Stack, tuple[Maps, ...]]
    outputs: NDArray[np.float32]
    prediction: dict[str, Any]
    seconds: float

    @property
    def n_bytes(self) -> int:
        return sum(one.nbytes for layers in self.maps.values() for one in layers)


def edits_of(asked: Sequence[Any], most: int) -> tuple[Edit, ...]:
    """Edits from plain JSON: `[{"edit": "zero", "heads": ["3-1"]}]`."""
    found: list[Edit] = []
    n_heads = 0
    for one in asked:
        if not isinstance(one, dict) or not isinstance(one.get("edit"), str):
            raise UsageError('an edit is {"edit": name, "heads": ["3-1", …]}')
        heads = one.get("heads")
        if not isinstance(heads, list) or not all(isinstance(h, str) for h in heads):
            raise UsageError('an edit needs its heads, such as ["3-1"]')
        n_heads += len(heads)
        if n_heads > most:
            raise UsageError(f"more than {most} edited heads")
        if heads:
            found.append(EDITS[one["edit"]](heads=head_set(heads)))
    return tuple(found)


class LiveModel:
    """A loaded model that reads what people type, one text at a time."""

    def __init__(self, loaded: LoadedModel, limits: Limits | None = None) -> None:
        self.loaded, self.limits = loaded, limits or Limits()
        # one thread for all passes: torch keeps buffers for every thread it has ever computed in
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._shelf = threading.Lock()
        self._kept: OrderedDict[str, Pass] = OrderedDict()

    @property
    def max_tokens(self) -> int:
        """What the model takes, and what its maps may weigh: 2 bytes · heads · tokens²."""
        n_heads = len(self.loaded.layout.heads())
        fits = math.isqrt(self.limits.pass_bytes // (2 * n_heads))
        return max(8, min(self.limits.tokens, self.loaded.max_tokens, fits))

    def describe(self) -> dict[str, Any]:
        """The model for the page."""
        loaded = self.loaded
        return {
            "name": loaded.name,
            "family": loaded.family,
            "head": loaded.head,
            "mask": str(getattr(loaded.tokenizer, "mask_token", "") or ""),
            "max_tokens": self.max_tokens,
            "edits": list(EDITS),
            "stacks": [
                {
                    "stack": s.stack,
                    "title": STACK_TITLES[s.stack],
                    "n_heads": list(s.n_heads),
                    "causal": s.causal,
                    "queries": "target" if s.stack in ("decoder", "cross") else "source",
                    "keys": "target" if s.stack == "decoder" else "source",
                }
                for s in loaded.layout.stacks
            ],
        }

    async def alone(self, work: Callable[..., _T], *given: Any) -> _T:
        """Do something with the model, after whatever it is doing now."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    def read(self, text: str, pair: str = "", edits: Sequence[Any] = ()) -> Pass:
        """Run a text through the model, or find it among those kept."""
        asked = json.dumps([text, pair, list(edits)], sort_keys=True)
        key = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        kept = self.find(key)
        if kept is not None:
            return kept
        found = self._run(key, text, pair, edits_of(edits, self.limits.edited_heads))
        with self._shelf:
            self._kept[key] = found
            while len(self._kept) > 1 and self._weight() > self.limits.kept_bytes:
                self._kept.popitem(last=False)
        return found

    def find(self, key: str) -> Pass | None:
        """A pass that is still kept."""
        with self._shelf:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def _weight(self) -> int:
        return sum(one.n_bytes for one in self._kept.values())

    def _run(self, key: str, text: str, pair: str, edits: tuple[Edit, ...]) -> Pass:
        started = time.perf_counter()
        loaded = self.loaded
        encoded = typed(loaded, text, pair, max_tokens=self.max_tokens)
        maps: dict[Stack, list[Maps]] = {s.stack: [] for s in loaded.layout.stacks}

        def observer(view: View) -> None:
            maps[view.stack].append(view.pattern[0].to(torch.float16).cpu().numpy())

        batch = collate([encoded], pad_id=loaded.pad_id, device=loaded.device)
        with (
            torch.inference_mode(),
            Tap(loaded.model, observer=observer, edits=edits, layout=loaded.layout) as tap,
        ):
            output = tap.forward(batch, output_hidden_states=True)
        return Pass(
            key,
            encoded,
            {stack: tuple(layers) for stack, layers in maps.items()},
            _outputs(output),
            predicted(loaded, encoded, output),
            time.perf_counter() - started,
        )


def _outputs(output: Any) -> NDArray[np.float32]:
    for name in ("last_hidden_state", "decoder_hidden_states", "hidden_states"):
        found = getattr(output, name, None)
        last = found[-1] if isinstance(found, tuple | list) and found else found
        if isinstance(last, Tensor):
            vectors: NDArray[np.float32] = last[0].float().cpu().numpy()
            return vectors
    return np.zeros((0, 0), np.float32)
