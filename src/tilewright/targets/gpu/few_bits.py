"""Products with weights of 2, 4 or 8 bits in blocks, as ONNX files of language models have them."""

from __future__ import annotations

from functools import partial

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ops.matmulnbits import WIDTHS, MatMulNBits
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.gpu.plain import stored


def other_bits(bits: int, op: Op, types: Types) -> str | None:
    found = instance(op, MatMulNBits).bits
    return None if found == bits else f"it takes weights of {bits} bits, not of {found}"


KERNELS = tuple(
    kernel
    for bits in WIDTHS
    for kernel in stored(
        Kernel(
            MatMulNBits, "gpu_matmul_nbits.c", "A B:uint8 scales:float32 zeros:uint8 -> Y", {},
            header="matmul_nbits.h", unsupported_reason=partial(other_bits, bits), around=f"gpu_bits_{bits}.h",
        ),
        "A Y",
    )
)  # fmt: skip
