from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.div import Div
from tilewright.ops.max import Max
from tilewright.ops.reducel1 import ReduceL1
from tilewright.ops.reducel2 import ReduceL2
from tilewright.records import dataclass

NORMS = {1: ReduceL1, 2: ReduceL2}


@dataclass(frozen=True)
class LpNormalization(Op):
    """x divided by its L1 or L2 norm along an axis; 0 where the norm is 0."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        p, axis = node.attribute("p", 2), node.axis(node.attribute("axis", -1), node.rank())
        if p not in NORMS or node.type(0).dtype != "float32":
            raise Refusal(f"the L{p} norm of {node.type(0).dtype} is not supported", "p is 1 or 2, the type float32")
        (norm,) = emit(NORMS[p]((axis,), True), node.inputs)
        smallest = emit.constant(np.array(np.finfo(np.float32).tiny), f"{node.name}_tiny")
        (norm,) = emit(Max(), [norm, smallest])
        return emit(Div(), [node.inputs[0], norm], node.outputs)
