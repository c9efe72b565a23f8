from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.gather import Gather
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class EmbedLayerNormalization(Op):
    """LayerNormalization of the sum of rows of tables: for words, places and segments."""

    operands: ClassVar[tuple[str, ...]] = (
        "input_ids", "segment_ids?", "words", "places", "segments?", "gamma", "beta", "mask?", "position_ids?",
    )  # fmt: skip

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (batch, steps) = Compose(node, emit), node.type(0).shape
        if node.attribute("mask_index_type", 0) not in (0, 1):
            raise Refusal("a mask_index_type other than 0 and 1 is not supported")
        places = node.inputs[8] if node.has(8) else make.constant(np.arange(steps, dtype=np.int32)[None], "steps")
        total = make.add(make(Gather(0), node.inputs[2], node.inputs[0]), make(Gather(0), node.inputs[3], places))
        if node.has(1) and node.has(4):
            total = make.add(total, make(Gather(0), node.inputs[4], node.inputs[1]))
        y = make(LayerNormalization(-1, node.attribute("epsilon", 1e-12)), total, *node.inputs[5:7])
        return make.give(y, _lengths(make, batch) if node.must_give(1) else "", total)


def _lengths(make: Compose, batch: int) -> str:
    """How many steps of each sequence the mask lets through; none without a mask."""
    if not make.node.has(7):
        return make.constant(np.zeros(batch, np.int32), "lengths")
    return make(ReduceSum((1,), False), make.node.inputs[7])
