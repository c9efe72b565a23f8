from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.identity import Identity
from tilewright.records import dataclass


@dataclass(frozen=True)
class Dropout(Op):
    """At inference the tensor itself, and a mask that keeps everything."""

    operands: ClassVar[tuple[str, ...]] = ("X", "ratio?", "training_mode?")
    results: ClassVar[tuple[str, ...]] = ("Y", "mask")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("ratio", "seed", "is_test")
        if node.scalar_at(2, "training_mode") and node.scalar_at(1, "ratio") != 0:
            raise Refusal("training mode drops elements at random", "export the model for inference")
        kept = emit(Identity(), node.inputs[:1], node.outputs[:1])
        if len(node.outputs) < 2 or not node.outputs[1]:
            return kept
        mask = emit.constant(np.ones(node.type(0).shape, np.bool_), "mask")
        return [*kept, *emit(Identity(), [mask], node.outputs[1:2])]
