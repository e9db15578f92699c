"""What the network sees of a map: an image of one size, and rulers laid beside it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.measures.patterns.cuts import CELLS, CUTS, contrasts
from headscope.measures.patterns.labelled_maps import LARGEST, Map
from headscope.measures.patterns.resampling import SIZE, overlaps, resampled
from headscope.measures.patterns.rulers import measured

#: The image, and the rulers of columns, diagonals and cuts.
LAYERS = 4


def seen(
    pattern: Float[Tensor, "batch head query key"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "map layer size size"]:
    """Maps of texts of any lengths, padding cropped: head after head, text after text.

    The first layer is the map resampled; the second has in each cell how far its column stands
    out from the map, the third its diagonal (0 where they do not say): what the labeller's rulers
    show, read off the map as it is kept and labelled, of at most 64 tokens. The fourth has in each
    row how plainly squares meet there.
    """
    n_tokens = pattern.shape[-1]
    cells = overlaps(lengths, n_tokens)
    images = resampled(pattern, cells, cells).flatten(0, 1)
    kept = _kept(lengths, n_tokens)
    small = resampled(pattern, kept, kept).flatten(0, 1)
    sizes = lengths.clamp_max(LARGEST).repeat_interleave(pattern.shape[1])
    columns, diagonals = measured(small, sizes)
    coarse = overlaps(lengths, n_tokens, CELLS)
    causal = small.triu(2).flatten(1).amax(dim=1) == 0
    meeting = contrasts(resampled(pattern, coarse, coarse).flatten(0, 1), causal)
    return torch.stack([images, *_drawn_out(columns, diagonals, sizes), _rows(meeting)], dim=1)


def seen_maps(maps: Iterable[Map]) -> Float[Tensor, "map layer size size"]:
    """The same for maps that are already cropped, one by one."""
    found = [seen(torch.from_numpy(one)[None, None], torch.tensor([len(one)])) for one in maps]
    return torch.cat(found) if found else torch.zeros(0, LAYERS, SIZE, SIZE)


def _kept(lengths: Int[Tensor, " batch"], n_tokens: int) -> Float[Tensor, "batch cell token"]:
    """Which tokens each row of a kept map has: one each, or parts of several in long texts."""
    token, n = torch.arange(n_tokens, device=lengths.device), lengths[:, None, None]
    same = ((token == token[:LARGEST, None]) & (token < n)).float()
    if n_tokens <= LARGEST:
        return same
    return torch.where(n > LARGEST, overlaps(lengths, n_tokens, LARGEST), same)


def _drawn_out(
    columns: Float[Tensor, "map cell"],
    diagonals: Float[Tensor, "map offset"],
    sizes: Int[Tensor, " map"],
) -> tuple[Float[Tensor, "map size size"], Float[Tensor, "map size size"]]:
    """Rulers as images: every cell has the highest of the columns, or diagonals, it overlaps."""
    n, cell = sizes[:, None], torch.arange(SIZE, device=sizes.device)
    first, last = cell * n // SIZE, ((cell + 1) * n - 1) // SIZE
    tall = _highest(columns, (first, torch.minimum(first + 1, last), last))

    after = torch.arange(1 - SIZE, SIZE, device=sizes.device)
    low, high = -((1 - 2 * after) * n // (2 * SIZE)), (2 * after + 1) * n // (2 * SIZE)
    nearest = (2 * after * n + SIZE) // (2 * SIZE)
    none = low > high
    middle = columns.shape[1] - 1
    parts = (torch.where(none, nearest, low) + middle, torch.where(none, nearest, high) + middle)
    lines = _highest(diagonals, parts)
    at = cell - cell[:, None] + SIZE - 1
    return tall[:, None].expand(-1, SIZE, -1), lines[:, at]


def _rows(meeting: Float[Tensor, "map cut"]) -> Float[Tensor, "map size size"]:
    """The cut nearest to each row's upper edge, 0 where the map is not cut."""
    row = torch.arange(SIZE, device=meeting.device)
    cut = (row * CELLS + SIZE // 2) // SIZE - CUTS.start
    inside = (cut >= 0) & (cut < len(CUTS))
    found = torch.where(inside, meeting[:, cut.clamp(0, len(CUTS) - 1)], 0)
    return found[:, :, None].expand(-1, -1, SIZE)


def _highest(
    values: Float[Tensor, "map part"], places: tuple[Int[Tensor, "map cell"], ...]
) -> Float[Tensor, "map cell"]:
    known = values.nan_to_num(0.0)
    found = [known.gather(1, at.clamp(0, values.shape[1] - 1)) for at in places]
    return torch.stack(found).amax(dim=0)
