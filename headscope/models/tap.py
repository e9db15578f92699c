"""The tap: watch and edit the attention of a model."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headscope.errors import ModelError, UsageError
from headscope.models.batch import Batch
from headscope.models.describe import describe, places
from headscope.models.edit import Edit, Site
from headscope.models.layout import Layout
from headscope.models.seam import Allowed, Weights, attach, no_cache
from headscope.models.view import View
from headscope.types import Stack


class _SeenAllError(Exception):
    """Every attention call has been seen; nobody asked for what comes after."""


class Tap:
    """Watch and edit the attention of a model for as long as the `with` block lasts.

    The model is left exactly as it was, also after an exception. Inside the block, call
    `tap.forward(batch)` (`tap.watch(batch)` where only the observer matters), or the model itself
    when neither an observer nor a segment edit needs to know what the tokens are. `observer` gets a
    `View` per layer, after the edits. With `gradients=True` the views are kept in `tap.views`, and
    `view.gradient` is there once the loss has been propagated back.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        observer: Callable[[View], None] | None = None,
        edits: Iterable[Edit] = (),
        gradients: bool = False,
        layout: Layout | None = None,
    ) -> None:
        self.model = model
        self.observer = observer
        self.edits = tuple(edits)
        self.gradients = gradients
        self.layout = layout or describe(model)
        for edit in self.edits:
            edit.check(self.layout)
        self.views: list[View] = []
        self._places = places(model)
        self._n_calls: Counter[nn.Module] = Counter()
        self._batch: Batch | None = None
        self._mask: Tensor | None = None
        self._undo: ExitStack | None = None
        self._wanted: Layout | None = None
        self._n_unseen = 0

    # --- life -----------------------------------------------------------------------------

    def __enter__(self) -> Tap:
        with ExitStack() as undo:
            attach(self.model, self, undo)
            hook = self.model.register_forward_pre_hook(self._start, with_kwargs=True)
            undo.callback(hook.remove)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._undo is not None:
            self._undo.close()
        self._undo = self._batch = self._mask = None

    def forward(self, batch: Batch, **kwargs: Any) -> Any:
        """Run the model on a batch whose tokens the observer and the edits know."""
        if self._undo is None:
            raise UsageError("this tap is not open: use it in a with block")
        self._batch = batch
        try:
            return self.model(**batch.inputs, **no_cache(self.model), **kwargs)
        finally:
            self._batch = None

    def watch(self, batch: Batch, only: Layout | None = None) -> None:
        """Run the model as far as its last attention call: for observers who ask no more of it.

        The last layer's feed-forward part, a pooler and a head are left out, which is about a
        twentieth of a model of twelve layers. With a layout of fewer layers (`Layout.only`) the
        observer sees those alone, and the pass ends after the last of them.
        """
        self._wanted = only or self.layout
        self._n_unseen = sum(len(stack.seen) for stack in self._wanted.stacks)
        try:
            self.forward(batch)
        except _SeenAllError:
            pass
        finally:
            self._wanted = None

    def _start(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._n_calls.clear()
        self.views.clear()
        given = dict(zip(inspect.signature(module.forward).parameters, args, strict=False)) | kwargs
        self._mask = given.get("attention_mask")

    # --- one attention call -----------------------------------------------------------------

    def enter(self, module: nn.Module, weights: Weights, allowed: Allowed | None) -> Site:
        """Where the forward pass is now. `allowed` is None when an adapter cannot know it."""
        found = self._places.get(module)
        if found is None:
            raise ModelError(f"{type(module).__name__} was not called when the model was described")
        # layers that share one module (ALBERT) are told apart by whose turn it is
        stack, layer = found[self._n_calls[module] % len(found)]
        self._n_calls[module] += 1
        if allowed is None:
            allowed = self._allowed_from_padding(weights, self.layout[stack].causal)
        return Site(stack, layer, allowed, self._real_queries(stack), self._batch)

    def edit(self, weights: Weights, site: Site) -> Weights:
        for edit in self.edits:
            weights = edit.apply(weights, site)
        if self.gradients:
            # a new tensor, so that the caller recomputes the output from it
            used = weights.float()
            weights = used.clone() if used.requires_grad else used.detach().requires_grad_()
            weights.retain_grad()
        return weights

    def deliver(
        self, weights: Weights, z: Float[Tensor, "batch head query d_head"], site: Site
    ) -> None:
        if site.batch is None or (self.observer is None and not self.gradients):
            return
        first = 0
        if self._wanted is not None:
            seen = next((s.seen for s in self._wanted.stacks if s.stack == site.stack), ())
            if site.layer not in seen:
                return
            first = seen[0]
        view = View(
            stack=site.stack,
            layer=site.layer,
            causal=self.layout[site.stack].causal,
            pattern=weights.float(),
            z=z.float(),
            allowed=site.allowed,
            batch=site.batch,
            first_layer=first,
        )
        if self.gradients:
            self.views.append(view)
        if self.observer is not None:
            self.observer(view)
        if self._wanted is not None:
            self._n_unseen -= 1
            if self._n_unseen == 0:
                raise _SeenAllError

    def _real_queries(self, stack: Stack) -> Bool[Tensor, "batch query"] | None:
        if self._batch is not None:
            target = self._batch.target
            return (target if stack in ("decoder", "cross") and target else self._batch.source).real
        if self._mask is None or self._mask.ndim != 2 or stack in ("decoder", "cross"):
            return None
        return self._mask.bool()

    def _allowed_from_padding(self, weights: Weights, causal: bool) -> Allowed:
        batch, _, n_query, n_key = weights.shape
        allowed = torch.ones(batch, 1, n_query, n_key, dtype=torch.bool, device=weights.device)
        if self._mask is not None and self._mask.ndim == 2:
            allowed = allowed & self._mask.bool()[:, None, None, :]
        return allowed.tril() if causal else allowed
