"""Ways for N-EUREKA to take a layer, compared by predicted cycles."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, Shape, TensorType, type_of
from tilewright.records import dataclass
from tilewright.target.target import Offer
from tilewright.targets.hwpe.bracketed import bracketed
from tilewright.targets.hwpe.kernels import Variant
from tilewright.targets.hwpe.op import BY_NPU, Neureka
from tilewright.targets.hwpe.results import named
from tilewright.targets.hwpe.sums import Sums

MOST_CONSTANTS = 1 << 19
"""Bytes of all constants of a network up to which weights are kept in plain bytes besides, in L2."""


@dataclass(frozen=True)
class Taken:
    """One way to take a layer with the operand `x`."""

    node: Node
    x: str
    x_type: TensorType
    op: Neureka
    constants: Mapping[str, Array]
    cores: int
    """That finish results."""

    @property
    def named(self) -> Offer:
        return named(self.node, self.x, self.op, self.constants)

    @property
    def cycles(self) -> float:
        """Of the layer as a whole, with its weights in the weight memory."""
        types = {name: type_of(array) for name, array in self.constants.items()} | {"X": self.x_type}
        (types["Y"],) = self.op.infer(types)
        extents = self.op.extents({name: kind.shape for name, kind in types.items()})
        found = Variant(type(self.op), True, self.op.made != BY_NPU).cycles(self.op, types, extents, self.cores)
        return found.cores + found.submitting + found.engine


def taken(
    graph: Graph, node: Node, x: str, shape: Shape, sums: Sums, op: Neureka, constants: Mapping[str, Array], cores: int,
) -> Taken:  # fmt: skip
    """The layer as it is, or with the requantisation between two lines where that is quicker."""
    kind = TensorType(sums.x_dtype, shape)
    plain = Taken(node, x, kind, op, constants, cores)
    found = bracketed(sums, op, constants) if _has_room(graph) else None
    lines = Taken(node, x, kind, *found, cores) if found is not None else None
    return lines if lines is not None and is_quicker(lines, plain) else plain


def is_quicker(one: Taken, other: Taken) -> bool:
    return one.cycles < other.cycles


def _has_room(graph: Graph) -> bool:
    return sum(array.nbytes for array in graph.constants.values()) <= MOST_CONSTANTS
