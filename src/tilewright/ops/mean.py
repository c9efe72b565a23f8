from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._arithmetic import chain
from tilewright.ops.add import Add
from tilewright.ops.div import Div
from tilewright.records import dataclass


@dataclass(frozen=True)
class Mean(Op):
    """(x0 + x1 + ...) / n: a chain of Add and a Div."""

    operands: ClassVar[tuple[str, ...]] = ("X*",)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.type(0).dtype != "float32":
            raise Refusal(
                f"the mean of {node.type(0).dtype} tensors is not supported", "ONNX defines it for floats only"
            )
        (total,) = chain(Add(), node.inputs, None, emit)
        count = emit.constant(np.asarray(len(node.inputs), np.float32), "count")
        return emit(Div(), [total, count], node.outputs)
