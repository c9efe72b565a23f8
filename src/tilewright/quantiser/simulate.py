"""A network as it will be when it is quantised, in floats: every rounding where the quantisers will be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.cells import QuantisedCells
from tilewright.quantiser.ranges.ranges import rounded
from tilewright.quantiser.weights import QuantisedWeights
from tilewright.records import dataclass


@dataclass(frozen=True)
class Simulation:
    graph: Graph
    """The float network."""
    formats: Mapping[str, Format]
    """Of the tensors that are quantised."""
    weights: Mapping[str, QuantisedWeights]
    """Of the layers that are, by their results."""
    cells: Mapping[str, QuantisedCells] = field(default_factory=dict)
    """Recurrent layers in integers, by the first results of their cells."""

    @cached_property
    def _products(self) -> dict[str, str]:
        """The products that recurrent layers begin with, and whose they are."""
        return {found.layer.product.node.key: key for key, found in self.cells.items()}

    def begin(self, values: dict[str, Array]) -> None:
        """Round what is there when a call begins."""
        for name in self.graph.sources:
            if name in self.formats:
                values[name] = rounded(values[name], self.formats[name])

    def step(self, node: Node, values: dict[str, Array]) -> None:
        """The results of a node, rounded where they will be."""
        if node.key in self._products:
            # What the layer reads may be gone when its cells are reached.
            key = self._products[node.key]
            values[_made(key)] = self.cells[key].run(values[node.inputs[0]])[0]
        results = self._of_cells(node, values) if node.key in self.cells else self.unrounded(node, values)
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                values[name] = rounded(value, self.formats[name]) if name in self.formats else value

    def _of_cells(self, node: Node, values: dict[str, Array]) -> tuple[Array, ...]:
        """The outputs of all steps, and the last of them."""
        outputs = values.pop(_made(node.key))
        last = outputs[0] if getattr(node.op, "reverse", False) else outputs[-1]
        return outputs, last

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


def _made(key: str) -> str:
    """Where the results of cells wait until their node is reached; no tensor is called so."""
    return f"\0{key}"
