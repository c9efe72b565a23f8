from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._gradients import declared
from tilewright.records import dataclass


@dataclass(frozen=True)
class GlobalAveragePoolGrad(Op):
    """The gradient of a GlobalAveragePool's operand: every element of a channel gets an equal part of dY."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, known, rank = Compose(node, emit), declared(node), node.rank()
        size = node.integer_list("kernel_shape") or (known[2:] if known else None)
        if size is None or len(size) != rank - 2:
            raise Refusal(f"the size of what was pooled is {size} for {rank - 2} spatial axes", "give kernel_shape")
        parts = make.scaled(node.inputs[0], 1.0 / max(math.prod(size), 1))
        return make.give(make.expand(parts, (*node.type(0).shape[:2], *size)))
