from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compaction import chosen_positions, zeros_behind
from tilewright.ops._compose import Compose
from tilewright.ops.cumsum import CumSum
from tilewright.ops.equal import Equal
from tilewright.ops.gather import Gather
from tilewright.ops.not_ import Not
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.topk import TopK
from tilewright.records import dataclass


@dataclass(frozen=True)
class Unique(Op):
    """The different elements in ascending order, where each is first, which of them every element is, and how often
    each is there; and how many there are, with zeros behind. Becomes a sort and a scatter."""

    results: ClassVar[tuple[str, ...]] = ("Y", "indices", "inverse", "counts")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, size = Compose(node, emit), node.type(0).elements
        if not node.attribute("sorted", 1) or node.attribute("axis", None) is not None or not size:
            raise Refusal("only elements in ascending order are supported", "sorted=1, without axis, of one or more")
        x = make.reshape(node.inputs[0], (size,))
        ordered, places = emit(TopK(size, 0, largest=False), [x], [emit.fresh(f"{node.name}_{i}") for i in range(2)])
        is_new = _differs_from_the_one_before(make, ordered)
        declared = node.declared[0] if node.declared else None
        positions, count = chosen_positions(make, is_new, declared[0] if declared is not None else size)
        found = [zeros_behind(make, make(Gather(0), one, positions), 0, count) for one in (ordered, places)]
        ones = make.cast(is_new, "int32")
        group = make.sub(make(CumSum(0), ones), make.like(1, ones))
        empty = make.constant(np.zeros(size, np.int64), "empty")
        inverse = make(ScatterElements(), empty, places, make.cast(group, "int64"))
        each = make.constant(np.ones(size, np.int64), "each")
        counts = make.part(make(ScatterElements("add"), empty, group, each), 0, 0, make.shape(positions)[0])
        return [*make.give(*found, inverse, counts), count]


def _differs_from_the_one_before(make: Compose, ordered: str) -> str:
    (size,) = make.shape(ordered)
    same = make(Equal(), make.part(ordered, 0, 1, size), make.part(ordered, 0, 0, size - 1))
    first = make.constant(np.ones(1, np.bool_), "first")
    return make.join(0, first, make(Not(), same)) if size > 1 else first
