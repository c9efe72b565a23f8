from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.block_formats import FORMATS
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops.blockmatmul import DOMAIN, check_format
from tilewright.ops.gather import check_indices, inside
from tilewright.records import dataclass


@dataclass(frozen=True)
class BlockGather(Op):
    """Rows of weights in blocks, W[n, bytes], chosen by indices, as the floats that they stand for.

    Negative indices count from the end, outlying ones are taken as the nearest inside.
    """

    domains: ClassVar[tuple[str, ...]] = (DOMAIN,)
    operands: ClassVar[tuple[str, ...]] = ("W", "indices")
    format: str = "Q8_0"

    def index(self, shapes: Shapes) -> Index:
        at = loops(" ".join(f"i{axis}" for axis in range(len(shapes["indices"]))))
        return {"W": tuple(map(whole, shapes["W"])), "indices": at, "Y": (*at, whole(self._width(shapes)))}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes["indices"], self._width(shapes)),)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def check(self, types: Mapping[str, TensorType]) -> None:
        table = types["W"]
        check_format(self.format)
        if table.dtype != "uint8" or len(table.shape) != 2 or table.shape[1] % FORMATS[self.format].bytes:
            raise Refusal(f"W is {table}, which are no rows of blocks in {self.format}")
        check_indices(types["indices"], table.shape[0])

    def numpy(self, W: Array, indices: Array) -> Array:
        return FORMATS[self.format].values(W[inside(indices, len(W))])

    def _width(self, shapes: Shapes) -> int:
        block = FORMATS[self.format]
        return shapes["W"][1] // block.bytes * block.elements
