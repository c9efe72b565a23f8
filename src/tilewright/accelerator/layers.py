"""Some layer of an operator, whatever it is: what its loops and numbers are called is seen on one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tilewright.accelerator.declaration import Pattern
from tilewright.accelerator.numbers import Types, numbers
from tilewright.accelerator.samples import sample, without_samples
from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.types import Shape, TensorType
from tilewright.target.params import fill_of

Layer = tuple[Op, Types]

SHAPES = ((1, 8, 6, 6), (2, 3, 8), (4, 8), (8,))
DTYPES = ("float32", "int8", "int32", "bool", "uint8")


TRIES = 40
"""Random chains of which one should do."""


def layers(pattern: Pattern, kind: type[Op]) -> list[Layer]:
    """With and without what it may leave out; none where operands cannot be made up."""
    if not without_samples(pattern):
        found = [_sampled(pattern, requantises) for requantises in (False, True)]
    else:
        found = [_tried(kind)]
    return [one for one in found if one is not None]


def becomes_others(kind: type[Op]) -> bool:
    """Whether layers of it are others by the time that engines are asked."""
    return (fill_of(kind) is None and not hasattr(kind, "params")) or kind.index is Op.index


def _sampled(pattern: Pattern, requantises: bool) -> Layer | None:
    """Types that are wrong themselves are reported elsewhere."""
    plain = Pattern("any", pattern.op, {}, chain=pattern.chain, layout=pattern.layout)
    for seed in range(TRIES):
        try:
            made = sample(np.random.default_rng(seed), plain, requantises)
            return made.op, made.types
        except Refusal:
            continue
    return None


def _tried(kind: type[Op]) -> Layer | None:
    """With its usual attributes, on the first operands that it takes."""
    count = sum(not name.endswith("?") for name in kind.operands)
    for dtype, shapes in product(DTYPES, _shapes(count)):
        try:
            op = kind()
            types = op.bind([TensorType(dtype, shape) for shape in shapes])
            results = op.infer(types)
            types |= dict(zip(op.result_names(len(results)), results, strict=True))
            numbers(op, tuple(types.items()), tuple(types.items()))
            return op, types
        except (Refusal, ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError):
            continue
    return None


def _shapes(count: int) -> Iterator[list[Shape]]:
    """All alike, or one value for each column, for each channel, for all."""
    for first in SHAPES:
        for other in (first, first[-1:], first[1:2], ()):
            yield [first] + [other] * (count - 1)
