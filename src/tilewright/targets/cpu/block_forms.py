"""Products with weights in blocks, and lookups of their rows, with the weights in panels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.blockmatmul import rounded
from tilewright.ops.gather import check_indices, inside
from tilewright.records import dataclass
from tilewright.target.structs.blocks import NUMBERS
from tilewright.targets.cpu.block_packing import FLOATS, LAYOUTS, Panels


@dataclass(frozen=True)
class PanelBlockProduct(Internal):
    """As BlockMatMul, with W [panels, bytes of a panel]."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "bias?")
    multiplies: ClassVar[bool] = True
    columns: int = 1
    panels: Panels = field(default_factory=lambda: Panels("Q8_0", 8))

    def index(self, shapes: Shapes) -> Index:
        rows, (n,) = axis_loops(len(shapes["X"]) - 1), loops("n")
        own = {name: tuple(map(whole, shapes[name])) for name in ("W", "bias") if name in shapes}
        return {"X": (*rows, whole(shapes["X"][-1])), **own, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])} | {"n": self.columns}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"n"})

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * self.columns

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["X"][:-1], self.columns),)

    def check(self, types: Mapping[str, TensorType]) -> None:
        inner = types["X"].shape[-1]
        wanted = (-(-self.columns // self.panels.rows), self.panels.panel_bytes(inner))
        if types["X"].dtype != "float32" or types["W"] != TensorType("uint8", wanted):
            raise Refusal(f"X is {types['X']} and W {types['W']}; floats and panels of {wanted} bytes are expected")

    def numpy(self, X: Array, W: Array, bias: Array | None = None) -> Array:
        rows = X if self.panels.format in FLOATS else rounded(X)
        made = rows @ self.panels.values(W, self.columns, X.shape[-1]).T
        return np.asarray(made if bias is None else made + bias, np.float32)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        inner = types["X"].shape[-1]
        return {
            "rows": types["X"].elements // max(inner, 1), "inner": inner, "columns": self.columns,
            "panel_bytes": types["W"].shape[1], "part": 0, "parts": 1,
        }  # fmt: skip


@dataclass(frozen=True)
class PanelBlockGather(Internal):
    """As BlockGather, with W [panels, bytes of a panel]."""

    operands: ClassVar[tuple[str, ...]] = ("W", "indices")
    words: int = 1
    width: int = 32
    panels: Panels = field(default_factory=lambda: Panels("Q8_0", 8))

    def index(self, shapes: Shapes) -> Index:
        at = loops(" ".join(f"i{axis}" for axis in range(len(shapes["indices"]))))
        return {"W": tuple(map(whole, shapes["W"])), "indices": at, "Y": (*at, whole(self.width))}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["indices"], self.width),)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_indices(types["indices"], self.words)

    def numpy(self, W: Array, indices: Array) -> Array:
        chosen = inside(indices, self.words)
        one = [self._row(W, int(word)) for word in chosen.reshape(-1)]
        return np.asarray(one, np.float32).reshape(*indices.shape, self.width)

    def _row(self, W: Array, word: int) -> Array:
        panel, row = divmod(word, self.panels.rows)
        return self.panels.values(W[panel : panel + 1], self.panels.rows, self.width)[row]

    def params(self, types: Mapping[str, TensorType]) -> Params:
        layout = LAYOUTS.get(self.panels.format)
        return {
            "count": types["indices"].elements, "inner": self.width, "length": self.words,
            "panel_bytes": types["W"].shape[1], "panel": self.panels.rows, "format": NUMBERS[self.panels.format],
            "scale_bytes": self.panels.scale_bytes(self.width), "bits": layout.bits if layout else 16,
            "is_apart": int(self.panels.is_apart),
            "zero": layout.zero + (128 if layout.bits == 8 and self.panels.is_unsigned else 0) if layout else 0,
        }  # fmt: skip
