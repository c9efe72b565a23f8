from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compaction import chosen_positions
from tilewright.ops._compose import Compose
from tilewright.ops.gather import Gather
from tilewright.records import dataclass


@dataclass(frozen=True)
class NonZero(Op):
    """The indices of elements that are not 0, a column for each, and behind them columns of 0; and how many there are.
    There are as many columns as elements, or as the result is declared with. Becomes sums and a scatter."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, kind = Compose(node, emit), node.type(0)
        if not kind.shape or not kind.elements:
            raise Refusal(f"of {kind} no element can be counted at run time", "fold constants before")
        declared = node.declared[0] if node.declared else None
        room = declared[1] if declared is not None and len(declared) == 2 else kind.elements
        condition = make.cast(make.reshape(node.inputs[0], (kind.elements,)), "bool")
        positions, count = chosen_positions(make, condition, room)
        indices = np.array(np.unravel_index(np.arange(kind.elements), kind.shape), np.int64)
        table = make.constant(indices, "indices")
        return [*emit(Gather(1), [table, positions], node.outputs), count]
