"""What stays in floats inside a quantised network, and what that costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tilewright.errors import printable
from tilewright.ir.graph import Graph, Node
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.quantise.rules import QUANTISE
from tilewright.records import dataclass


@dataclass(frozen=True)
class Kept:
    """An operator that is computed in floats."""

    name: str
    operator: str
    elements: int
    macs: int
    reason: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        work = f"{self.macs:,} float multiplications" if self.macs else f"{self.elements:,} float results"
        reason = f": {self.reason}" if self.reason else ""
        return f"{printable(self.name)} ({self.operator}) stays in floats, {work} per call{reason}"


def floats_of(quantised: Graph) -> tuple[Kept, ...]:
    """What a network with quantisers computes in floats."""
    return kept_in_float(apply(quantised, (DROP_IDENTITIES, QUANTISE)))


def kept_in_float(integer: Graph) -> tuple[Kept, ...]:
    """The operators of the integer network that read and give floats."""
    return tuple(_kept(integer, node) for node in integer.nodes if _is_float(integer, node))


def _is_float(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, QuantizeLinear | DequantizeLinear):
        return False
    operands = [graph.types[name].dtype for name in node.inputs if name and name not in graph.constants]
    return "float32" in operands or graph.types[node.key].dtype == "float32"


def _kept(graph: Graph, node: Node) -> Kept:
    reason = next((note.partition(": ")[2] for note in graph.notes if note.startswith(node.where)), "")
    return Kept(node.name, node.op.kind, graph.types[node.key].elements, graph.macs(node), reason)
