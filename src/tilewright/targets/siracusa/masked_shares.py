"""Attention from products to shares in one kernel: a softmax of masked scores, without the scores ever being stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import ClassVar, cast

import numpy as np

from tilewright.affine import FIRST, axis_loops, loops
from tilewright.errors import Refusal
from tilewright.exact import exact_matmul
from tilewright.op import Index, Op, Params
from tilewright.ops._elementwise import broadcast
from tilewright.ops._linear import NARROW
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.requant import full_range
from tilewright.target import Kernel, Types
from tilewright.targets.siracusa.dialect import share_tables, softmax_objection
from tilewright.targets.siracusa.elementwise import BYTE, CORES, AddTables, add_tables
from tilewright.targets.siracusa.features import Extents, is_high, up
from tilewright.targets.siracusa.stages import Stage, stage
from tilewright.types import Array, Shapes, TensorType, limits

LENGTH = 4
"""Of the rows that are multiplied: one word."""
MOST_COLUMNS = 512
PRODUCTS = (LENGTH * -128 * 127, LENGTH * 128 * 128)
"""The smallest and the largest sum of so many."""


@dataclass(frozen=True)
class MaskedShares(Op):
    """softmax(masking(score(A[..., m, k] @ B[..., n, k]^T), M)), where M broadcasts to the scores."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "M")
    multiplies: ClassVar[bool] = True
    score: Scaling
    masking: RequantizedAdd
    softmax: iSoftmax

    def index(self, shapes: Shapes) -> Index:
        batch = axis_loops(len(shapes["A"]) - 2)
        m, n, k = loops("m n k")
        scores = (*batch, m, n)
        axes = zip(scores[len(scores) - len(shapes["M"]) :], shapes["M"], strict=True)
        mask = tuple(FIRST if size == 1 else axis for axis, size in axes)
        return {"A": (*batch, m, k), "B": (*batch, n, k), "M": mask, "Y": scores}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"n"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        a, b, mask = (types[name].shape for name in "ABM")
        if len(a) < 2 or a[:-2] != b[:-2] or a[-1] != b[-1]:
            raise Refusal(f"rows of {a} are not those of {b}")
        if broadcast([mask, (*a[:-1], b[-2])]) != (*a[:-1], b[-2]):
            raise Refusal(f"a mask of shape {mask} for scores of shape {(*a[:-1], b[-2])}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.softmax.result_dtypes({"X": self.masking.out.requant.dtype})

    def numpy(self, A: Array, B: Array, M: Array) -> Array:
        scores = self.score(exact_matmul(A.astype(np.int32), B.swapaxes(-1, -2).astype(np.int32)))
        return self.softmax.numpy(self.masking.numpy(scores, M))


def score_stage(op: MaskedShares) -> Stage | None:
    """Of sums of products; None where 32 bits do not do, or a score has more values than a byte."""
    found = stage(op.score.requant, op.score.mul, op.score.add, *PRODUCTS)
    return None if found is None or found.even or found.top >= BYTE else found


def tables(op: MaskedShares, types: Types, scores: Stage) -> AddTables | None:
    """As those of a sum; but the first one begins with the lowest score."""
    dtype = op.score.requant.dtype
    found = add_tables(op.masking, dtype, types["M"].dtype)
    return found and AddTables(found.first[scores.low - limits(dtype)[0] :], found.second, found.out)


def params(op: Op, types: Types) -> Params:
    fused = cast(MaskedShares, op)
    found = score_stage(fused)
    assert found is not None
    added = tables(fused, types, found)
    assert added is not None
    *heads, rows, _ = types["A"].shape
    columns, mask = types["B"].shape[-2], types["M"].shape
    return {
        "heads": prod(heads), "rows": rows, "columns": columns,
        "mask_row": columns if len(mask) > 1 and mask[-2] > 1 else 0, "score": found.params(), **asdict(added),
        "tables": share_tables(fused.softmax),
    }  # fmt: skip


def objection(op: Op, types: Types) -> str | None:
    fused, columns, mask = cast(MaskedShares, op), types["B"].shape[-2], types["M"].shape
    if types["A"].shape[-1] != LENGTH or columns > MOST_COLUMNS:
        return f"{columns} rows of {types['A'].shape[-1]} bytes; at most {MOST_COLUMNS} of {LENGTH} are supported"
    if mask[-1:] != (columns,) or prod(mask[:-2]) != 1:
        return "a mask that is not one row or one matrix for all heads"
    masked = fused.masking.out.requant.dtype
    found = score_stage(fused)
    if masked != "int8" or found is None or tables(fused, types, found) is None:
        return "scores of more than 8 bits, or unsigned ones"
    return softmax_objection(fused.softmax, {"X": TensorType(masked, types["Y"].shape)})


def starts(op: Op, types: Types) -> int:
    """A pointer for each column, for each core."""
    return CORES * 4 * (types["B"].shape[-2] + 1)


def features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows, columns that a mask is looked up for, elements, those whose products with a reciprocal do not fit
    32 bits, and those left of words."""
    columns = extents["n"]
    heads = prod(size for loop, size in extents.items() if loop not in ("m", "n", "k"))
    own = up(extents["m"] * heads, cores)
    elements = float(own * columns)
    high = elements * is_high(cast(MaskedShares, op).softmax)
    return 1.0, float(own), float(up(own, heads) * columns), elements, high, float(own * (columns % 4))


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    def scaling(mul: int) -> Scaling:
        return Scaling(mul, 0, full_range(16, "int8"))

    random = np.random.default_rng(5)
    for softmax in (iSoftmax(ln2=14, b=19, c=192, out=scaling(80_000)), iSoftmax(ln2=63, b=85, c=3770)):
        for heads, rows, columns in ((16, 1, 65), (16, 8, 64), (4, 24, 64), (16, 4, 40), (3, 5, 31), (8, 16, 16)):
            shapes = (heads, rows, LENGTH), (heads, columns, LENGTH), (rows, columns)
            operands = [random.integers(-100, 100, shape).astype(np.int8) for shape in shapes]
            yield (
                MaskedShares(scaling(400), RequantizedAdd(*map(scaling, (32768, 90_000, 65536))), softmax),
                [*operands],
            )


KERNELS = (
    Kernel(
        MaskedShares, "masked_shares.c", "A:int8 B:int8 M -> Y", {"M": NARROW, "Y": NARROW}, params, starts, objection,
        cooperative=True, whole=frozenset({"k", "n"}), features=features, samples=samples,
    ),
)  # fmt: skip
