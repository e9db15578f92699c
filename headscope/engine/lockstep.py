"""Several models over one batch, layer beside layer, without keeping any maps."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import torch

from headscope.errors import HeadscopeError
from headscope.models import Batch, LoadedModel, Tap, View, collate
from headscope.types import Encoded, Facts

#: How often a waiting side looks whether the other one is still there.
_LOOK_SECONDS = 0.2


class _StoppedError(Exception):
    """The leader has given up; nobody waits for this model any more."""


class _Follower:
    """A model that runs in a thread of its own and hands over one layer at a time.

    The queue holds one view, so a follower is never more than two layers ahead: three maps of one
    layer are in memory at most, however deep the model.
    """

    def __init__(self, model: LoadedModel, batch: Batch, n_threads: int) -> None:
        self._batch = batch
        self._views: queue.Queue[View] = queue.Queue(maxsize=1)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self.tap = Tap(model.body, observer=self._offer, layout=model.layout)
        self._thread = threading.Thread(target=self._run, args=(n_threads,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self, n_threads: int) -> None:
        try:
            # the same split of every sum as in the leader's thread, hence the same bits
            torch.set_num_threads(n_threads)
            with torch.inference_mode():
                self.tap.watch(self._batch)
        except _StoppedError:
            pass
        except BaseException as error:
            self._error = error

    def _offer(self, view: View) -> None:
        while not self._stop.is_set():
            try:
                self._views.put(view, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return
        raise _StoppedError

    def take(self) -> View:
        """The next layer, as soon as it is there."""
        while True:
            alive = self._thread.is_alive()
            try:
                return self._views.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if not alive:
                    raise self._error or HeadscopeError("a model has fewer layers") from None

    def finish(self) -> None:
        """Wait for the end; what went wrong there goes wrong here."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Let the thread end at its next layer."""
        self._stop.set()
        self._thread.join()


def in_lockstep(
    models: Sequence[LoadedModel],
    encoded: Sequence[Encoded],
    facts: Facts,
    observe: Callable[[list[View]], None],
) -> None:
    """One forward pass of every model; `observe` gets the views of one layer of all of them.

    The models must have the same layout and read the same tokens.
    """
    batches = [collate(encoded, pad_id=m.pad_id, device=m.device, facts=facts) for m in models]
    followers = [
        _Follower(model, batch, torch.get_num_threads())
        for model, batch in zip(models[1:], batches[1:], strict=True)
    ]

    def together(view: View) -> None:
        observe([view, *(follower.take() for follower in followers)])

    leader = Tap(models[0].body, observer=together, layout=models[0].layout)
    with ExitStack() as undo, torch.inference_mode():
        undo.enter_context(leader)
        for follower in followers:
            undo.enter_context(follower.tap)
        for follower in followers:
            follower.start()
            undo.callback(follower.abandon)
        leader.watch(batches[0])
        for follower in followers:
            follower.finish()
