"""Kernels of weights in blocks."""

from __future__ import annotations

from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import BlockMatMul
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.movement import INDICES
from tilewright.targets.generic.sizes import in_c

KERNELS = (
    Kernel(
        BlockMatMul, "block_matmul.c", "X:float32 W:uint8 bias:float32 -> Y:float32", {},
        scratch=in_c("tw_block_matmul_scratch"),
    ),
    Kernel(BlockGather, "block_gather.c", "W:uint8 indices -> Y:float32", {"indices": INDICES}),
)  # fmt: skip
