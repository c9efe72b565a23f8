"""Products with weights of 2, 4 or 8 bits in blocks, as ONNX files of language models have them."""

from __future__ import annotations

from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.target.kernel import Kernel
from tilewright.targets.gpu.plain import stored

KERNELS = stored(
    Kernel(
        MatMulNBits, "gpu_matmul_nbits.c", "A B:uint8 scales:float32 zeros:uint8 -> Y", {}, header="matmul_nbits.h",
    ),
    "A Y",
)  # fmt: skip
