"""What normalisations leave of a tensor or two: each scaled and moved by channel, added up, above zero if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass

OPERANDS = ("X", "scale", "B", "Z?", "z_scale?", "z_B?")


@dataclass(frozen=True)
class ScaledSum(Op):
    """X * scale + B, plus Z or Z * z_scale + z_B where it is given; channels are the last axis."""

    operands: ClassVar[tuple[str, ...]] = OPERANDS
    elementwise: ClassVar[bool] = True
    positive: bool = False
    """Whether zero stands for what is below it."""

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {name: axes if name in ("X", "Z") else axes[-1:] for name in shapes if name != "Y"} | {"Y": axes}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        for name, kind in types.items():
            if kind.dtype != "float32":
                raise Refusal(f"{name} is {kind.dtype}; float32 is supported")
            if kind.shape != (shape if name in ("X", "Z") else shape[-1:]):
                raise Refusal(f"{name} has shape {kind.shape} beside {shape}")
        if ("z_scale" in types) != ("z_B" in types) or ("z_B" in types and "Z" not in types):
            raise Refusal("z_scale and z_B must both be given with Z, or neither")

    def numpy(
        self, X: Array, scale: Array, B: Array, Z: Array | None = None, z_scale: Array | None = None,
        z_B: Array | None = None,
    ) -> Array:  # fmt: skip
        total = X * scale + B
        if Z is not None:
            total = total + (Z if z_scale is None or z_B is None else Z * z_scale + z_B)
        return np.maximum(total, np.float32(0)) if self.positive else total
