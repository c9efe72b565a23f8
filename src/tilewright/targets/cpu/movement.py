"""Kernels that only move elements."""

from __future__ import annotations

import math

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ops.gridsample import GridSample
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


def _not_apart(op: Op, types: Types) -> str | None:
    last = len(types["X"].shape) - 1
    moved = [axis for axis in instance(op, Transpose).perm if types["X"].shape[axis] != 1]
    kept = sorted(moved)
    is_far = len(moved) > 2 and moved[-1] != kept[-1] and moved[-2] != kept[-1] and last > 1
    return None if is_far else "its last two axes hold those that lie in one piece"


def _not_bilinear(op: Op, types: Types) -> str | None:
    sample = instance(op, GridSample)
    plain = sample.mode == "linear" and sample.padding == "zeros" and len(types["X"].shape) == 4
    return None if plain else "it is not linear in two axes with zeros beside the image"


KERNELS = (
    Kernel(
        GridSample, "grid_sample_bilinear.c", "X:float32 grid:float32 -> Y:float32", {},
        unsupported_reason=_not_bilinear, header="grid_sample.h",
    ),
    Kernel(
        Transpose, "transpose_matrix.c", "X:float32 -> Y:float32", {}, params, unsupported_reason=unsupported_reason
    ),
    Kernel(
        Transpose, "transpose_apart.c", "X:float32 -> Y:float32", {}, unsupported_reason=_not_apart, header="copy.h",
    ),
    Kernel(ConcatSlices, "concat_slices.c", "X* -> Y", {"X": MOVED, "Y": MOVED}, samples=concat_samples),
)  # fmt: skip
