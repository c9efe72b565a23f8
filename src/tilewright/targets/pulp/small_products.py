"""Kernels of matrix products that are soon over: the heads of an attention, the layers of one token."""

from __future__ import annotations

import math
from functools import partial
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.pulp.sizes import by_cores, in_c

LARGEST_SHIFT = 20
LARGEST_SUMMAND = 2**28
"""TW_SMALL_LARGEST in C."""


def small_params(op: Op, types: Types, cores: int) -> Params:
    """tw_small_matmul_params: one loop over matrices, and what follows from the requantisation's type."""
    p = cast("dict[str, int]", params_of(op, types))
    requant = cast(Requant, cast(MatMul, op).requant)
    batch = batch_params(params_of(op, types))
    offset = (requant.zero_point << requant.shift) + ((1 << requant.shift) >> 1)
    same = ("rows", "inner", "columns", "a_row", "b_row", "b_column", "y_row", "c_column", "requant")
    return {
        **batch,
        **{name: p[name] for name in same},
        **row_params(p["rows"], cast(int, batch["batches"]) * -(-p["columns"] // 4), cores),
        "offset": offset,
        "saturates_beyond": ((requant.high - requant.low + 2) << requant.shift) + abs(offset),
        "safe_mul": (2**31 - 1 - abs(offset) - LARGEST_SUMMAND) // largest_total(types, p["inner"]),
    }  # fmt: skip


def batch_params(p: Params) -> Params:
    sizes = cast("list[int]", p["size"])
    strides = {name: cast("list[int]", p[name]) for name in ("stride_a", "stride_b", "stride_c", "stride_y")}
    return {"batches": math.prod(sizes), **{name: stride[0] if stride else 0 for name, stride in strides.items()}}


def row_params(rows: int, strips: int, cores: int, block: int = 1) -> Params:
    """How each strip's rows are dealt out: in few parts, but all cores shall have something to do."""
    blocks = max(-(-rows // block), 1)
    fair = (parts for parts in range(1, blocks + 1) if strips * parts % cores == 0 or strips * parts >= 4 * cores)
    part_rows = block * -(-blocks // next(fair, blocks))
    return {"parts": max(-(-rows // part_rows), 1), "part_rows": part_rows}


def largest_total(types: Types, inner: int) -> int:
    return inner * math.prod(max(abs(limit) for limit in limits(types[name].dtype)) for name in "AB")


def small_unsupported(op: Op, types: Types) -> str | None:
    """What tw_small_matmul_params cannot say."""
    p, requant = cast("dict[str, int]", params_of(op, types)), cast(MatMul, op).requant
    if requant is None or requant.rounding != Rounding.HALF_UP or requant.shift > LARGEST_SHIFT:
        return "its accumulators are not requantised in 32 bits"
    if requant.low != (-requant.high - 1 if types["Y"].dtype == "int8" else 0):
        return "its results are clipped to an odd range"
    if p["mul_row"] or p["mul_column"] or p["add_row"] or p["add_column"]:
        return "rows or columns have different requantisations"
    if p["rank"] > 1 or p["a_column"] != 1 or p["y_column"] != 1 or p["c_row"]:
        return "its matrices, rows or summands are not contiguous"
    return "operands have zero points" if p["a_zero"] or p["b_zero"] else None


def matvec_strips_unsupported(op: Op, types: Types) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    if p["rows"] != 1 or p["columns"] < 4:
        return f"{p['rows']} rows and {p['columns']} columns; one and at least four are needed"
    if p["inner"] % 4 or not p["inner"] or p["b_row"] != 1 or p["b_column"] != p["inner"]:
        return "columns are not whole words"
    if "C" in types and p["c_column"] != 1:
        return "its summands are not those of columns"
    return small_unsupported(op, types)


def gemm_k4_unsupported(op: Op, types: Types) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    if p["rows"] < 4:
        return f"{p['rows']} rows; at least four are needed"
    return words_unsupported(op, types)


def gemv_k4_unsupported(op: Op, types: Types, cores: int) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    rows = math.prod(cast("list[int]", params_of(op, types)["size"])) * p["rows"]
    if p["rows"] >= 4 or rows < cores:
        return f"{p['rows']} rows on a matrix and {rows} in all; less than four and at least {cores} are needed"
    if p["b_row"] != 1 or p["b_column"] != 4:
        return "columns are no neighbouring words"
    return words_unsupported(op, types)


def words_unsupported(op: Op, types: Types) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    if p["inner"] != 4 or p["columns"] < 4:
        return f"sums of {p['inner']} products in {p['columns']} columns; four and at least four are needed"
    if 1 not in (p["b_row"], p["b_column"]) or "C" in types:
        return "columns are not contiguous, or something is added to them"
    return small_unsupported(op, types)


def across_unsupported(op: Op, types: Types) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    if p["b_column"] != 1 or p["columns"] < 4 or p["inner"] < 4:
        return "columns are no neighbours, or too few or too short"
    if "C" in types and p["c_column"] != 1:
        return "its summands are not those of columns"
    return small_unsupported(op, types)


def gemv_b_rowmajor_unsupported(op: Op, types: Types) -> str | None:
    rows = cast(int, params_of(op, types)["rows"])
    return across_unsupported(op, types) if rows < 4 else f"{rows} rows; less than four are few"


def gemm_b_rowmajor_unsupported(op: Op, types: Types) -> str | None:
    """Columns are transposed by each core that works on them: there shall be few, and many rows."""
    p = cast("dict[str, int]", params_of(op, types))
    if p["rows"] < 16 or p["columns"] > 16:
        return f"{p['rows']} rows and {p['columns']} columns; at least and at most 16 are needed"
    return across_unsupported(op, types) if p["a_row"] == p["inner"] else "its rows are not contiguous"


def across_params(op: Op, types: Types, cores: int) -> Params:
    """Rows are dealt out in blocks of four."""
    p = cast("dict[str, int]", small_params(op, types, cores))
    return {**p, **row_params(p["rows"], p["batches"] * -(-p["columns"] // 4), cores, 4)}


def alike_unsupported(op: Op, types: Types) -> str | None:
    p = cast("dict[str, int]", params_of(op, types))
    if p["rows"] < 4 or p["columns"] % 4 or not p["columns"]:
        return f"{p['rows']} rows and {p['columns']} columns; at least four rows and whole fours of columns are needed"
    if p["inner"] % 4 or p["inner"] < 8 or p["b_row"] != 1 or p["b_column"] != p["inner"] or p["a_row"] != p["inner"]:
        return "rows are no neighbours, or no whole words"
    return "something is added to its accumulators" if "C" in types else small_unsupported(op, types)


SIGNATURE = "A B C:int32 mul:int32 add:int32 -> Y"
BYTES = {"A": NARROW, "B": NARROW, "Y": NARROW}


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    dealt_out, in_blocks = partial(small_params, cores=cores), partial(across_params, cores=cores)
    return (
        Kernel(
            MatMul, "gemv_k4.c", SIGNATURE, BYTES, dealt_out,
            unsupported_reason=partial(gemv_k4_unsupported, cores=cores), cooperative=True,
            unsplit_loops=frozenset({"k"}), multiples={"n": 4}, min_tile={"n": 4}, work=in_c.work("tw_gemv_k4_work"),
            header="small_matmul.h",
        ),
        Kernel(
            MatMul, "gemm_k4.c", SIGNATURE, BYTES, dealt_out, unsupported_reason=gemm_k4_unsupported,
            cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"n": 4}, min_tile={"m": 4, "n": 4},
            work=in_c.work("tw_gemm_k4_work"), header="small_matmul.h",
        ),
        Kernel(
            MatMul, "matvec_strips.c", SIGNATURE, BYTES, dealt_out, unsupported_reason=matvec_strips_unsupported,
            cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"n": 4}, min_tile={"n": 4},
            work=in_c.work("tw_small_rows_work"), header="small_matmul.h",
        ),
        Kernel(
            MatMul, "gemv_b_rowmajor.c", SIGNATURE, BYTES, dealt_out, unsupported_reason=gemv_b_rowmajor_unsupported,
            cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"n": 4}, min_tile={"n": 4},
            work=in_c.work("tw_small_rows_work"), header="small_matmul.h",
        ),
        Kernel(
            MatMul, "gemm_b_rowmajor.c", SIGNATURE, BYTES, in_blocks, by_cores("tw_gemm_b_rowmajor_scratch", cores),
            gemm_b_rowmajor_unsupported, cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"m": 4, "n": 4},
            min_tile={"m": 4, "n": 4}, work=in_c.work("tw_gemm_b_rowmajor_work"), header="small_matmul.h",
        ),
        Kernel(
            MatMul, "gemm_uniform_requant.c", SIGNATURE, BYTES, in_blocks,
            by_cores("tw_gemm_uniform_requant_scratch", cores), alike_unsupported, cooperative=True,
            unsplit_loops=frozenset({"k"}), multiples={"m": 4, "n": 4},
            min_tile={"m": 4, "n": 4}, work=in_c.work("tw_gemm_uniform_requant_work"), header="small_matmul.h",
        ),
    )  # fmt: skip
