from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compaction import chosen_positions, zeros_behind
from tilewright.ops._compose import Compose
from tilewright.ops.gather import Gather
from tilewright.records import dataclass


@dataclass(frozen=True)
class Compress(Op):
    """The slices along an axis (or the elements) for which a condition is true: a Gather. Where it is computed, zeros
    follow up to the size that the result is declared with, or to that of all; and how many there are."""

    operands: ClassVar[tuple[str, ...]] = ("X", "condition")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, x = Compose(node, emit), node.inputs[0]
        axis = node.attribute("axis", None)
        if not node.has(1):
            raise Refusal("the condition is missing")
        if axis is None:
            x = make.reshape(x, (make.kind(x).elements,))
        at = 0 if axis is None else node.axis(axis, node.rank())
        (given,) = node.type(1).shape
        if given > make.shape(x)[at]:
            raise Refusal(f"{given} conditions are given for an axis of {make.shape(x)[at]}")
        condition = node.constants[1]
        if condition is not None:
            chosen = np.flatnonzero(condition).astype(np.int32)
            return emit(Gather(at), [x, make.constant(chosen, "chosen")], node.outputs)
        declared = node.declared[0] if node.declared else None
        room = declared[at] if declared is not None and len(declared) == len(make.shape(x)) else given
        positions, count = chosen_positions(make, node.inputs[1], room)
        return [*make.give(zeros_behind(make, make(Gather(at), x, positions), at, count)), count]
