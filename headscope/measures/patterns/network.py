"""The network that names a map's shape: eight convolutions with ReLU."""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.errors import InputError
from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.resampling import SIZE
from headscope.measures.patterns.rulers import LIMIT
from headscope.measures.patterns.seeing import LAYERS

#: Channels after each of the eight convolutions; the first of each pair halves the image.
CHANNELS = (16, 16, 32, 32, 48, 48, 64, 64)
#: How many cells are the brightest half percent.
_FULL = SIZE * SIZE // 200


class PatternNetwork(nn.Module):
    """What is seen of a map (`seeing`) in, one score per shape out.

    Eight convolutions of 3 × 3, each with ReLU; every second one has stride 2, so the image
    shrinks from 48 to 3 cells a side; a linear layer reads those. The map comes in twice, as the
    square root of its weights, so that faint columns stay visible: once so that even attention is
    1, once as the labeller sees it, the brightest half percent of its cells at 1. Of the rulers
    of columns and diagonals it sees how far they are from the limit, a tenth at most.
    """

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for place, (before, after) in enumerate(pairwise((1 + LAYERS, *CHANNELS))):
            layers += [nn.Conv2d(before, after, 3, stride=2 - place % 2, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.dropout = nn.Dropout(0.3)
        self.scores = nn.Linear(CHANNELS[-1] * (SIZE // 16) ** 2, len(PATTERNS))

    def forward(self, images: Float[Tensor, "map layer size size"]) -> Float[Tensor, "map pattern"]:
        image = images[:, 0]
        brightest = image.flatten(1).topk(_FULL).values[:, -1, None, None].clamp_min(1e-9)
        twice = torch.stack([image * SIZE, (image / brightest).clamp_max(1)], dim=1).sqrt()
        lines, cuts = images[:, 1:3], images[:, 3:]
        rulers = [((lines - LIMIT) * 10).clamp(-1, 1), (cuts * 5).clamp(-1, 1)]
        x = torch.cat([twice, *rulers], dim=1).contiguous(memory_format=torch.channels_last)
        found: Tensor = self.scores(self.dropout(self.layers(x).flatten(1)))
        return found


def save_network(network: PatternNetwork, path: Path) -> None:
    """Weights as float16 safetensors; the file appears whole or not at all."""
    weights = {name: w.detach().half().contiguous() for name, w in network.state_dict().items()}
    fresh = path.with_name(path.name + ".new")
    safetensors.torch.save_file(weights, fresh, metadata={"format": "headscope patterns 1"})
    fresh.chmod(0o644)
    fresh.replace(path)


def load_network(path: Path) -> PatternNetwork:
    """A network from its safetensors file, ready to be asked."""
    expected = "weights written by headscope patterns train"
    try:
        weights = safetensors.torch.load_file(path)
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected=expected) from None
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(path, found=str(error), expected=expected) from None
    network = PatternNetwork()
    try:
        network.load_state_dict({name: w.float() for name, w in weights.items()})
    except RuntimeError as error:
        found = str(error).splitlines()[-1].strip()
        raise InputError(path, found=found, expected=expected) from None
    network.eval().requires_grad_(False)
    return network


@cache
def network_at(path: str) -> PatternNetwork:
    """The network of a file, or the shipped one for an empty path; read once per process."""
    if path:
        return load_network(Path(path))
    return load_network(shipped_weights())


def shipped_weights() -> Path:
    """Where the weights that come with the package are."""
    folder = resources.files("headscope.measures.patterns") / "data"
    return Path(str(folder / "network.safetensors"))
