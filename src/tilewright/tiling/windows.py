"""The part of a tensor that a tile of an operator touches."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.affine import Span, clip

Window = tuple[slice, ...]


def window(spans: Sequence[Span], shape: Sequence[int]) -> Window:
    """The part of a tensor that a footprint touches."""
    return tuple(slice(*clip(span, size)) for span, size in zip(spans, shape, strict=True))
