"""Slices that are joined and then quantised are read once: caches of floats become bytes where they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.types import Array, TensorType, limits
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.targets.cpu.concat_slices import ConcatSlices
from tilewright.targets.generic.quantised import NARROW


@dataclass(frozen=True)
class QuantisedConcat(ConcatSlices):
    """Joined, then quantised with one scale."""

    scale: float = 1.0
    zero: int = 0
    dtype: str = "int8"

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def numpy(self, *X: Array) -> Array:
        joined = super().numpy(*X)
        return QuantizeLinear().numpy(joined, np.array(self.scale, np.float32), np.array(self.zero, self.dtype))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        low, high = limits(self.dtype)
        return {**super().params(types), "scale": self.scale, "zero": self.zero, "low": low, "high": high}


def run(graph: Graph) -> Graph:
    def quantise(node: Node, builder: Builder) -> dict[str, str] | None:
        joined = _joined_before(graph, node)
        if joined is None or not isinstance(joined.op, ConcatSlices):
            return None
        scale, zero = (graph.constants[name].reshape(-1)[0] for name in node.inputs[1:])
        op = QuantisedConcat(
            joined.op.axis, joined.op.starts, joined.op.shapes, float(scale), int(zero), graph.types[node.key].dtype
        )
        builder.add(op, joined.inputs, node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, quantise)


def _joined_before(graph: Graph, node: Node) -> Node | None:
    """What joins the floats that a node quantises with one constant scale, if nobody else reads them."""
    if not isinstance(node.op, QuantizeLinear) or graph.types[node.inputs[1]].elements != 1:
        return None
    joined = graph.producers.get(node.inputs[0])
    if joined is None or type(joined.op) is not ConcatSlices or not is_only_reader(graph, node, joined.key):
        return None
    is_constant = all(name in graph.constants for name in node.inputs[1:])
    return joined if is_constant and graph.types[node.key].dtype in NARROW else None


def none_joined_before(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _joined_before(graph, node) is not None:
            yield node.where, "quantises floats that were copied"


QUANTISED_CONCATS = Pass("joined slices are quantised in place", run, ensures=none_joined_before)
KERNEL = Kernel(QuantisedConcat, "quantised_concat.c", "X*:float32 -> Y", {"Y": NARROW})
