"""A network as it will be when it is quantised, in floats: every rounding where the quantisers will be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.ranges import rounded
from tilewright.quantiser.weights import QuantisedWeights


@dataclass(frozen=True)
class Simulation:
    graph: Graph
    """The float network."""
    formats: Mapping[str, Format]
    """Of the tensors that are quantised."""
    weights: Mapping[str, QuantisedWeights]
    """Of the layers that are, by their results."""

    def begin(self, values: dict[str, Array]) -> None:
        """Round what is there when a call begins."""
        for name in self.graph.sources:
            if name in self.formats:
                values[name] = rounded(values[name], self.formats[name])

    def step(self, node: Node, values: dict[str, Array]) -> None:
        """The results of a node, rounded where they will be."""
        results = self.unrounded(node, values)
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                values[name] = rounded(value, self.formats[name]) if name in self.formats else value

    def unrounded(self, node: Node, values: Mapping[str, Array]) -> tuple[Array, ...]:
        weights = self.weights.get(node.key)
        if weights is None:
            return evaluate_node(self.graph, node, values)
        return (self.linear(node, weights, values),)

    def linear(self, node: Node, weights: QuantisedWeights, values: Mapping[str, Array]) -> Array:
        """A layer with its quantised weights, before its result is rounded."""
        bias = weights.bias_floats(self.formats[node.inputs[0]].scale)
        kept = [values[name] if name else None for name in node.inputs[2:]]
        with np.errstate(all="ignore"):
            found = node.op.numpy(values[node.inputs[0]], weights.floats, *(kept if bias is None else [bias]))
        return np.asarray(found)
