from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.mod import Mod
from tilewright.ops.scatternd import ScatterND
from tilewright.records import dataclass


@dataclass(frozen=True)
class TensorScatter(Op):
    """A buffer of earlier steps with new ones written from a place on, which each sequence has of its own."""

    operands: ClassVar[tuple[str, ...]] = ("past_cache", "update", "write_indices?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, rank = Compose(node, emit), node.rank()
        axis, mode = node.axis(node.attribute("axis", -2), rank), node.attribute("mode", "linear")
        if axis == 0 or mode not in ("linear", "circular") or node.rank(1) != rank:
            raise Refusal(f"mode {mode} along axis {axis} of rank {rank}")
        order = [0, axis, *(other for other in range(1, rank) if other != axis)]
        cache, new = (make.transpose(name, order) for name in node.inputs[:2])
        batch, length = make.shape(cache)[:2]
        written = make(ScatterND(), cache, _places(make, batch, length, make.shape(new)[1], mode == "circular"), new)
        return make.give(make.transpose(written, [order.index(other) for other in range(rank)]))


def _places(make: Compose, batch: int, length: int, steps: int, circular: bool) -> str:
    """For each sequence and step its number and where it goes: [batch, step, 2]."""
    node = make.node
    first = node.inputs[2] if node.has(2) else make.constant(np.zeros(batch, np.int64), "first")
    kind = make.kind(first).element
    offsets = make.constant(np.arange(steps).reshape(1, steps).astype(kind), "steps")
    places = make.add(make.reshape(first, (batch, 1)), offsets)
    if circular:
        places = make(Mod(), places, make.like(length, places))
    rows = np.broadcast_to(np.arange(batch).reshape(batch, 1, 1), (batch, steps, 1)).astype(kind)
    return make.join(-1, make.constant(rows, "rows"), make.reshape(places, (batch, steps, 1)))
