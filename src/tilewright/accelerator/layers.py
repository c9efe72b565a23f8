"""Some layer of an operator, whatever it is: what its loops and numbers are called is seen on one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tilewright.accelerator.declaration import Pattern
from tilewright.accelerator.numbers import Types, numbers
from tilewright.accelerator.samples import MAKERS, sample
from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.types import Shape, TensorType

Layer = tuple[Op, Types]

SHAPES = ((1, 8, 6, 6), (2, 3, 8), (4, 8), (8,))
DTYPES = ("float32", "int8", "int32", "bool", "uint8")


def layers(kind: type[Op], layout: str) -> list[Layer]:
    """With and without what it may leave out; none where operands cannot be made up."""
    if kind.__name__ in MAKERS:
        return [_sampled(kind.__name__, layout, requantises) for requantises in (False, True)]
    found = _tried(kind)
    return [found] if found else []


def becomes_others(kind: type[Op]) -> bool:
    """Whether layers of it are others by the time that engines are asked."""
    return kind.params is Op.params or kind.index is Op.index


def _sampled(name: str, layout: str, requantises: bool) -> Layer:
    """Types that are wrong themselves are reported elsewhere."""
    made = sample(np.random.default_rng(0), Pattern("any", name, {}, layout=layout), requantises)
    return made.op, made.types


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
