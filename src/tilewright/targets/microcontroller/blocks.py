"""Products with weights in blocks of 4 or 8 bits, for one core without vectors."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.blockmatmul import BlockMatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.microcontroller.sizes import in_c

FORMATS = ("Q4_0", "Q8_0")


def _not_of_bytes(op: Op, types: Types) -> str | None:
    product = cast(BlockMatMul, op)
    if product.format not in FORMATS:
        return f"weights are {product.format}, it takes {' and '.join(FORMATS)}"
    return None if product.rounds_rows else "rows are multiplied as floats"


KERNELS = (
    Kernel(
        BlockMatMul, "block_matmul_bytes.c", "X:float32 W:uint8 bias:float32 -> Y:float32", {},
        scratch=in_c("tw_block_matmul_bytes_scratch"), unsupported_reason=_not_of_bytes, header="block_matmul.h",
    ),
)  # fmt: skip
