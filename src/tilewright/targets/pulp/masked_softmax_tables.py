"""Shares of masked scores by tables, whatever masking does, of an attention whose heads have rows of four bytes."""

from __future__ import annotations

from dataclasses import asdict
from math import prod
from typing import cast

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType, limits
from tilewright.ops._linear import NARROW
from tilewright.requant.requant32 import Requant32
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.dialect import share_tables, softmax_unsupported
from tilewright.targets.pulp.elementwise import AddTables, add_tables
from tilewright.targets.pulp.masked_softmax_features import dense_features
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax, score_requant
from tilewright.targets.pulp.sizes import by_cores

LENGTH = 4
"""Of the rows that are multiplied: one word."""
MOST_COLUMNS = 512


def tables(op: MaskedSoftmax, types: Types, scores: Requant32) -> AddTables | None:
    """As those of a sum; but the first one begins with the lowest score."""
    dtype = op.score.requant.dtype
    found = add_tables(op.masking, dtype, types["M"].dtype)
    return found and AddTables(found.first[scores.low - limits(dtype)[0] :], found.second, found.out)


def params(op: Op, types: Types) -> Params:
    fused = cast(MaskedSoftmax, op)
    found = present(score_requant(fused.score, LENGTH), fused.kind, "its scores have no requantisation in 32 bits")
    added = present(tables(fused, types, found), fused.kind, "its mask has no tables")
    *heads, rows, _ = types["A"].shape
    columns, mask = types["B"].shape[-2], types["M"].shape
    return {
        "heads": prod(heads), "rows": rows, "columns": columns,
        "mask_row": columns if len(mask) > 1 and mask[-2] > 1 else 0, "score": found.params(), **asdict(added),
        "tables": share_tables(fused.softmax),
    }  # fmt: skip


def unsupported_reason(op: Op, types: Types) -> str | None:
    fused, columns, mask = cast(MaskedSoftmax, op), types["B"].shape[-2], types["M"].shape
    if types["A"].shape[-1] != LENGTH or columns > MOST_COLUMNS:
        return f"{columns} rows of {types['A'].shape[-1]} bytes; at most {MOST_COLUMNS} of {LENGTH} are supported"
    if mask[-1:] != (columns,) or prod(mask[:-2]) != 1:
        return "a mask that is not one row or one matrix for all heads"
    masked = fused.masking.out.requant.dtype
    found = score_requant(fused.score, LENGTH)
    if masked != "int8" or found is None or tables(fused, types, found) is None:
        return "scores of more than 8 bits, or unsigned ones"
    return softmax_unsupported(fused.softmax, {"X": TensorType(masked, types["Y"].shape)})


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            MaskedSoftmax, "masked_softmax_tables.c", "A:int8 B:int8 M -> Y", {"M": NARROW, "Y": NARROW}, params,
            by_cores("tw_masked_softmax_tables_scratch", cores), unsupported_reason, cooperative=True,
            unsplit_loops=frozenset({"k", "n"}), features=dense_features,
        ),
    )  # fmt: skip
