"""Kernels of plain arithmetic, element by element with broadcasting, all cores together."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops.add import Add
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.clip import Clip
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.sub import Sub
from tilewright.target.kernel import Kernel, Types


def binary(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "A B -> Y", dict.fromkeys("ABY", NUMBERS), cooperative=True, header="binary.h")


def unary(op: type[Op], source: str, header: str) -> Kernel:
    return Kernel(op, source, "X -> Y", dict.fromkeys("XY", NUMBERS), cooperative=True, header=header)


def by_rows(op: Op, types: Types) -> str | None:
    if cast(BatchNormalization, op).axis != len(types["X"].shape) - 1:
        return "its channels are not the last axis"
    return "its mean and variance are apart" if "mean" in types else None


KERNELS = (
    binary(Add, "add_shared.c"),
    binary(Sub, "sub_shared.c"),
    binary(Mul, "mul_shared.c"),
    binary(Max, "max_shared.c"),
    binary(Min, "min_shared.c"),
    unary(Relu, "relu_shared.c", "unary.h"),
    unary(Clip, "clip_shared.c", "clip.h"),
    Kernel(
        BatchNormalization, "batchnormalization_rows.c",
        "X:float32 scale:float32 B:float32 mean:float32 var:float32 -> Y:float32", {}, unsupported_reason=by_rows,
        cooperative=True, header="batchnormalization.h",
    ),
)  # fmt: skip
