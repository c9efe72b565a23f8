from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass


@dataclass(frozen=True)
class WriteRows(Internal):
    """X with rows written along axis 1, from a position on that is known when it runs: the step of a KV cache.

    Rows that would lie behind the last one of X are left out; a position before the first one counts as that.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "rows", "position")
    overwrites: ClassVar[Mapping[str, str]] = MappingProxyType({"Y": "X"})

    @property
    def tokens_together(self) -> int:
        """Rows that axis 1 counts as one."""
        return 1

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        rows = tuple(whole(size) for size in shapes["rows"])
        return {"X": axes, "rows": rows, "position": (whole(1),), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(len(shapes["X"])))

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, rows = types["X"], types["rows"]
        if len(kind.shape) < 2 or kind.shape[0] != 1 or rows.dtype != kind.dtype:
            raise Refusal(f"rows of {rows} cannot be written into {kind}")
        if rows.shape[:1] + rows.shape[2:] != kind.shape[:1] + kind.shape[2:] or rows.shape[1] > kind.shape[1]:
            raise Refusal(f"rows of shape {rows.shape} do not fit into shape {kind.shape}")
        if types["position"] != TensorType("int32", (1,)):
            raise Refusal(f"the position is {types['position']}; one int32 is expected")

    def numpy(self, X: Array, rows: Array, position: Array) -> Array:
        written, first = X.copy(), max(int(position[0]), 0)
        count = min(rows.shape[1], max(X.shape[1] - first, 0))
        written[:, first : first + count] = rows[:, :count]
        return written
