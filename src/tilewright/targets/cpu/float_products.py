"""Kernels of products of floats that are both computed, of softmaxes and of attention."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.softmax import Softmax
from tilewright.target.kernel import Kernel, Types
from tilewright.target.processors import Vectors
from tilewright.targets.generic.linear import FLOAT_MATMUL, scattered

MOST_TILE = 10
"""Rows of a tile on any processor."""


def _objection(op: Op, types: Types) -> str | None:
    fields = op.params(types)
    if fields["a_column"] != 1 and fields["inner"] != 1:
        return "elements of a row of A are no neighbours"
    return scattered(op, types)


def _not_rows(op: Op, types: Types) -> str | None:
    return None if op.params(types)["inner"] == 1 else "its axis is not the last"


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    panel = vectors.bytes // 2

    def product_scratch(op: Op, types: Types) -> int:
        """Zeros, and a panel."""
        return 4 * panel * (1 + cast(int, op.params(types)["inner"]))

    def attention_scratch(op: Op, types: Types) -> int:
        """Zeros, scores of some queries, keys as panels, and a panel of values."""
        keys, length = types["K"].shape[1], types["K"].shape[-1]
        pitch = -(-keys // panel) * panel
        return 4 * (panel + pitch * (MOST_TILE + length) + keys * panel)

    return (
        Kernel(
            MatMul, "matmul_computed.c", FLOAT_MATMUL, {}, scratch=product_scratch, objection=_objection,
            header="matmul.h", activations=ACTIVATIONS,
        ),
        Kernel(
            Softmax, "softmax_rows.c", "X:float32 -> Y:float32", {}, objection=_not_rows, header="softmax.h",
        ),
        Kernel(
            FusedAttention, "attention_panels.c", "Q:float32 K:float32 V:float32 position:int32 -> Y:float32", {},
            scratch=attention_scratch, header="fusedattention.h",
        ),
    )  # fmt: skip
