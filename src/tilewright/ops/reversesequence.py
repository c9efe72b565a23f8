from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.gathernd import GatherND
from tilewright.ops.less import Less
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReverseSequence(Op):
    """The first `sequence_lens[b]` steps of sequence b backward, the others as they are. Becomes a GatherND."""

    operands: ClassVar[tuple[str, ...]] = ("X", "sequence_lens")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        batch_axis, time_axis = node.attribute("batch_axis", 1), node.attribute("time_axis", 0)
        if {batch_axis, time_axis} != {0, 1} or node.rank() < 2:
            raise Refusal(f"batch_axis {batch_axis}, time_axis {time_axis}; they are 0 and 1")
        make = Compose(node, emit)
        order = (batch_axis, time_axis, *range(2, node.rank()))
        x = make.transpose(node.inputs[0], order)
        found = make(GatherND(1), x, _steps(make, *make.shape(x)[:2]))
        return make.give(make.transpose(found, order))


def _steps(make: Compose, batch: int, length: int) -> str:
    """For each sequence and step the step that is read: [batch, length, 1]."""
    lengths = make.reshape(make.node.inputs[1], (batch, 1))
    times = make.constant(np.arange(length).reshape(1, length).astype(make.kind(lengths).element), "steps")
    backward = make.sub(make.sub(lengths, make.like(1, lengths)), times)
    steps = make(Where(), make(Less(), times, lengths), backward, times)
    return make.reshape(steps, (batch, length, 1))
