from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.gather import Gather


@dataclass(frozen=True)
class Compress(Op):
    """The slices along an axis (or the elements) for which a constant condition is true. Becomes a Gather."""

    operands: ClassVar[tuple[str, ...]] = ("X", "condition")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, x = Compose(node, emit), node.inputs[0]
        condition, axis = node.constant(1, "the condition"), node.attribute("axis", None)
        if condition is None:
            raise Refusal("the condition is missing")
        if axis is None:
            x = make.reshape(x, (make.kind(x).elements,))
        at = 0 if axis is None else node.axis(axis, node.rank())
        chosen = np.flatnonzero(condition)
        if len(condition) > make.shape(x)[at]:
            raise Refusal(f"{len(condition)} conditions are given for an axis of {make.shape(x)[at]}")
        return emit(Gather(at), [x, make.constant(chosen.astype(np.int32), "chosen")], node.outputs)
