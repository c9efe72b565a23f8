"""Products of the same rows with a constant matrix for each head, whose results lie head by head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tilewright.ir.affine import Box, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import ONE_TAP
from tilewright.targets.hwpe.jobs import Job
from tilewright.targets.hwpe.linear import filter_bytes, row_jobs
from tilewright.targets.hwpe.op import Neureka


@dataclass(frozen=True)
class NeurekaHeads(Neureka):
    """Y[..., h, m, f] from X[..., m, c] and the filters of all heads: N-EUREKA makes all of a row side by side, the
    cores put each head's where it belongs."""

    heads: int = 1
    axes: int = 3
    """Of the result; those before the heads have one element."""

    def index(self, shapes: Shapes) -> Index:
        x, columns = shapes["X"], shapes["W"][0] // self.heads
        h, m = loops("h m")
        own = h * columns + whole(columns)
        return {
            "X": (*[whole(1)] * (len(x) - 2), m, whole(x[-1])),
            **self.constants_index(own, own, shapes),
            "Y": (*[whole(1)] * (self.axes - 3), h, m, whole(columns)),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {"h": self.heads, "m": shapes["X"][-2]}

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, heads=box["h"][1] - box["h"][0])

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * shapes["W"][0]

    def check(self, types: Mapping[str, TensorType]) -> None:
        filters = types["W"].shape[0]
        self.check_constants((filters, filter_bytes(types["X"].shape[-1])), filters, types)

    def numpy(self, X: Array, W: Array, scale: Array | None = None, bias: Array | None = None) -> Array:
        weights = ONE_TAP.unpack(W, (len(W), X.shape[-1])) + self.offset
        rows = self.quantised(exact_matmul(X.astype("int32"), weights.T.astype("int32")), scale, bias)
        by_head = rows.reshape(X.shape[-2], self.heads, -1).transpose(1, 0, 2)
        return by_head.reshape((1,) * (self.axes - 3) + by_head.shape)

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        return row_jobs(self, types, resident)

    def finish_walk(self, types: Mapping[str, TensorType]) -> Params:
        heads, rows, columns = types["Y"].shape[-3:]
        return {
            "images": heads, "rows": rows, "columns": 1, "source_image": columns, "source_row": heads * columns,
            "source_pixel": 0, "over_bottom": 0, "over_right": 0,
        }  # fmt: skip

    def tile_types(self, types: Mapping[str, TensorType], extents: Mapping[str, int]) -> dict[str, TensorType]:
        heads, rows = extents["h"], extents["m"]
        x, y, w = types["X"].shape, types["Y"].shape, types["W"].shape
        shapes = {"X": (*x[:-2], rows, x[-1]), "W": (heads * y[-1], w[1]), "Y": (*y[:-3], heads, rows, y[-1])}
        return {name: TensorType(kind.dtype, shapes.get(name, kind.shape)) for name, kind in types.items()}
