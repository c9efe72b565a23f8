from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class InPlaceAccumulatorV2(Op):
    """The gradient where the accumulation begins anew, otherwise the buffer plus the gradient.

    One result is the new buffer; of two the first is the flag that it was updated.
    """

    operands: ClassVar[tuple[str, ...]] = ("buffer", "gradient", "overwrite?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (buffer, gradient) = Compose(node, emit), node.inputs[:2]
        if make.shape(buffer) != make.shape(gradient):
            raise Refusal(f"the buffer has shape {make.shape(buffer)} and the gradient {make.shape(gradient)}")
        total = make.add(buffer, gradient)
        if node.has(2):
            if make.kind(node.inputs[2]).elements != 1:
                raise Refusal(f"the flag has shape {make.shape(node.inputs[2])}, one element expected")
            total = make(Where(), make.reshape(node.inputs[2], ()), gradient, total)
        if len(node.outputs) == 1:
            return make.give(total)
        return make.give(make.constant(np.ones(1, np.bool_), "updated") if node.must_give(0) else "", total)
