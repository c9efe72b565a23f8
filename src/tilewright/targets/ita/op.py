"""What ITA's operators have in common: tensors in tiles of 64 x 64, biases of 24 bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, axis_loops, whole
from tilewright.ir.types import Shape, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.targets.ita.layout import BIAS_BYTES, SIDE

TILE = (whole(SIDE), whole(SIDE))
MOST_TILES = 15
"""Of an axis: what a register of ITA holds."""


@dataclass(frozen=True)
class Ita(Internal):
    """An operator on tensors [..., rows, columns, 64, 64]."""

    multiplies: ClassVar[bool] = True

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)


def leading(shape: Shape) -> tuple[Affine, ...]:
    """Loops over the axes before the tiles."""
    return axis_loops(len(shape) - 4)


def batch_of(kind: TensorType) -> int:
    """How many matrices there are."""
    return math.prod(kind.shape[:-4])


def check_tiles(types: Mapping[str, TensorType], *names: str) -> None:
    for name in names:
        kind = types[name]
        if kind.dtype != "int8" or len(kind.shape) < 4 or kind.shape[-2:] != (SIDE, SIDE):
            raise Refusal(f"{name} is {kind}, int8 in tiles of {SIDE} x {SIDE} is expected")


def check_biases(types: Mapping[str, TensorType], columns: Mapping[str, int]) -> None:
    for name, count in columns.items():
        if name in types and types[name] != TensorType("uint8", (count, BIAS_BYTES)):
            raise Refusal(f"{name} is {types[name]}, {count} times {BIAS_BYTES} bytes are expected")


def check_alike(what: str, *sizes: int) -> None:
    if len(set(sizes)) != 1:
        raise Refusal(f"{what} are {', '.join(map(str, sizes))} tiles")
