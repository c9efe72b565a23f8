"""Kernels of products of floats that are both computed, of weights of 4 bits, of softmaxes and of attention."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.softmax import Softmax
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.target.processors import Dot, Vectors
from tilewright.targets.cpu.sizes import in_c
from tilewright.targets.generic.linear import FLOAT_MATMUL, scattered

NIBBLES = 32
"""Weights that are multiplied at a time."""


def _unsupported_reason(op: Op, types: Types) -> str | None:
    fields = params_of(op, types)
    if fields["a_column"] != 1 and fields["inner"] != 1:
        return "elements of a row of A are no neighbours"
    return scattered(op, types)


def _not_rows(op: Op, types: Types) -> str | None:
    return None if params_of(op, types)["inner"] == 1 else "its axis is not the last"


def _not_nibbles(op: Op, types: Types) -> str | None:
    product = instance(op, MatMulNBits)
    whole = product.block % NIBBLES == 0 and product.inner % product.block == 0
    return None if product.bits == 4 and whole else f"weights have 4 bits, in whole blocks of a multiple of {NIBBLES}"


def nibble_samples() -> Iterator[tuple[Op, list[Array | None]]]:
    random = np.random.default_rng(0)
    for rows, inner, columns in ((1, 288, 768), (1, 768, 288), (1, 64, 64), (16, 128, 256)):
        weights = random.integers(0, 256, (columns, inner // NIBBLES, NIBBLES // 2)).astype(np.uint8)
        a, scales = (random.uniform(-1, 1, shape) for shape in ((rows, inner), weights.shape[:2]))
        yield MatMulNBits(inner, 4, NIBBLES), [a.astype(np.float32), weights, scales.astype(np.float32)]


NIBBLE_PRODUCT = Kernel(
    MatMulNBits, "matmul_nibbles.c", "A:float32 B:uint8 scales:float32 zeros:uint8 -> Y:float32", {},
    unsupported_reason=_not_nibbles, header="matmul_nbits.h", work=in_c.work("tw_matmul_nibbles_work"),
    samples=nibble_samples,
)  # fmt: skip
"""For Arm's vectors."""


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    panel = vectors.bytes // 2

    return (
        *((NIBBLE_PRODUCT,) if vectors.dot in (Dot.SDOT, Dot.SMMLA) else ()),
        Kernel(
            MatMul, "matmul_computed.c", FLOAT_MATMUL, {}, scratch=in_c("tw_matmul_computed_scratch", panel),
            unsupported_reason=_unsupported_reason, header="matmul.h", activations=ACTIVATIONS,
        ),
        Kernel(
            Softmax, "softmax_rows.c", "X:float32 -> Y:float32", {}, unsupported_reason=_not_rows, header="softmax.h",
        ),
        Kernel(
            FusedAttention, "attention_panels.c", "Q:float32 K:float32 V:float32 position:int32 -> Y:float32", {},
            scratch=in_c("tw_attention_panels_scratch", panel), header="fusedattention.h",
        ),
    )  # fmt: skip
