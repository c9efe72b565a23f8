"""Parameter structs of kernels of weights in blocks."""

from __future__ import annotations

from tilewright.ir.block_formats import FORMATS
from tilewright.ir.op import Params
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import BlockMatMul
from tilewright.target.params import Types, params_for

NUMBERS = {name: number for number, name in enumerate(FORMATS)}
"""`tw_block_format` in C."""


@params_for(BlockMatMul)
def block_mat_mul_params(op: BlockMatMul, types: Types) -> Params:
    inner, (columns, row_bytes) = types["X"].shape[-1], types["W"].shape
    return {
        "rows": types["X"].elements // max(inner, 1), "inner": inner, "columns": columns, "row_bytes": row_bytes,
        "format": NUMBERS[op.format], "rounds_rows": int(op.rounds_rows),
    }  # fmt: skip


@params_for(BlockGather)
def block_gather_params(op: BlockGather, types: Types) -> Params:
    length, row_bytes = types["W"].shape
    return {
        "count": types["indices"].elements, "inner": types["Y"].shape[-1], "length": length, "row_bytes": row_bytes,
        "format": NUMBERS[op.format],
    }  # fmt: skip
