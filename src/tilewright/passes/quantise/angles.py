"""The cosines and sines of a rotation: constants, or the rows of a constant table that positions choose at run time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.types import Array, Shape
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.reshape import Reshape
from tilewright.passes.quantise.values import Context
from tilewright.records import dataclass


@dataclass(frozen=True)
class Angles:
    table: Array
    """All that can be read."""
    moves: tuple[Node, ...] = ()
    """What chooses rows of the table, and what moves them; none of it touches the last axis."""

    @property
    def names(self) -> frozenset[str]:
        """The rows, and what they are before they are moved."""
        return frozenset(node.key for node in self.moves)

    def times(self, signs: Array) -> Angles:
        return replace(self, table=self.table * signs)

    def like(self, shape: Shape) -> Angles:
        return replace(self, table=np.broadcast_to(self.table, shape))

    def emit(self, context: Context, unit: float, hint: str) -> str:
        """Integers of 16 bits for them; rows that several rotations read are chosen once."""
        levels = np.rint(self.table / unit).astype(np.int16)
        if not self.moves:
            return context.builder.constant(levels, f"{context.builder.node_name}_{hint}")
        key = (self.moves[-1].key, levels.tobytes())
        if key not in context.rows:
            context.rows[key] = self._chosen(context, levels)
        return context.rows[key]

    def _chosen(self, context: Context, levels: Array) -> str:
        layer, builder = context.builder.node_name, context.builder
        tensor = builder.constant(levels, self.moves[0].inputs[0])
        for node in self.moves:
            builder.node_name = node.name
            tensor = context.emit(node.op, [tensor, *node.inputs[1:]])
        builder.node_name = layer
        return tensor


def angles_of(context: Context, tensor: str) -> Angles | None:
    """A tensor as what is known of it at compile time, if that is all but the choice of rows."""
    moves = list[Node]()
    while (known := context.known(tensor)) is None:
        node = context.producer(tensor)
        if node is None or not _keeps_rows(context, node):
            return None
        moves.insert(0, node)
        tensor = node.inputs[0]
    return Angles(known.astype(np.float64), tuple(moves))


def _keeps_rows(context: Context, node: Node) -> bool:
    """Whether a node moves rows along the last axis as they are."""
    source, result = context.shape(node.inputs[0]), context.shape(node.key)
    if isinstance(node.op, Gather):
        return node.op.axis < len(source) - 1
    return isinstance(node.op, Reshape | Identity) and source[-1:] == result[-1:]
