"""Kernels of two tensors of floats, element by element, with streams and repetition."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.add import Add
from tilewright.ops.mul import Mul
from tilewright.ops.sub import Sub
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.snitch.sizes import in_c

LOOPS = 3
"""That rows may be nested in, at most."""


def streams_unsupported(op: Op, types: Types) -> str | None:
    """Two elements are 8 bytes, which begin at a multiple of 8."""
    p = cast("dict[str, list[int]]", params_of(op, types))
    size, strides = p["size"], (p["stride_a"], p["stride_b"])
    if len(size) > LOOPS or 0 in size:
        return f"there are more than {LOOPS} loops, or nothing in them"
    if len(size) == 1:
        return None if strides[0][0] == 1 else "its first operand is a single element"
    if any(stride[-1] != 1 for stride in strides):
        return "an operand has one element for a row"
    if size[-1] % 2 or any(step % 2 for stride in strides for step in stride[:-1]):
        return "rows begin between two multiples of 8 bytes"
    return None


def streams(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "A:float32 B:float32 -> Y:float32", {}, unsupported_reason=streams_unsupported, cooperative=True,
        work=in_c.work("tw_binary_streams_work"), header="binary.h",
        multiples=dict.fromkeys((f"d{axis}" for axis in range(8)), 2),
    )  # fmt: skip


KERNELS = (streams(Add, "add_streams.c"), streams(Sub, "sub_streams.c"), streams(Mul, "mul_streams.c"))
