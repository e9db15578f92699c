"""The shape of attention maps: vertical, diagonal, both, block, heterogeneous."""
