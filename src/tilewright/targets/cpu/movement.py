"""Kernels that only move elements."""

from __future__ import annotations

import math

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ops.transpose import Transpose
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.cpu.concat_slices import ConcatSlices
from tilewright.targets.cpu.costing import concat_samples
from tilewright.targets.generic.movement import MOVED


def _matrices(op: Transpose, types: Types) -> tuple[int, int, int] | None:
    """Batch, rows and columns where the last axes, as one, change places with those before them, as one."""
    shape = types["X"].shape
    moved = [axis for axis in op.perm if shape[axis] != 1]
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    first = next((n for n, (one, other) in enumerate(zip(moved, kept, strict=True)) if one != other), len(kept))
    rest, order = kept[first:], moved[first:]
    for split in range(1, len(rest)):
        if order == rest[split:] + rest[:split]:
            sizes = [kept[:first], rest[:split], rest[split:]]
            batch, rows, columns = (math.prod(shape[axis] for axis in axes) for axes in sizes)
            return batch, rows, columns
    return None


def unsupported_reason(op: Op, types: Types) -> str | None:
    return None if _matrices(instance(op, Transpose), types) else "it exchanges two runs of axes"


def params(op: Op, types: Types) -> Params:
    batch, rows, columns = _matrices(instance(op, Transpose), types) or (0, 0, 0)
    return {"batch": batch, "rows": rows, "columns": columns}


KERNELS = (
    Kernel(
        Transpose, "transpose_matrix.c", "X:float32 -> Y:float32", {}, params, unsupported_reason=unsupported_reason
    ),
    Kernel(ConcatSlices, "concat_slices.c", "X* -> Y", {"X": MOVED, "Y": MOVED}, samples=concat_samples),
)
