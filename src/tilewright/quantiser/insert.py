"""The network with its quantisers: standard QuantizeLinear and DequantizeLinear around float operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.types import Array
from tilewright.ir.unused import drop_unused
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.cells import OUTPUTS, QuantisedCells
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.weights import QuantisedWeights


def with_quantisers(simulation: Simulation) -> Graph:
    return _Insertion(simulation.graph, simulation.formats, simulation.weights, simulation.cells).run()


@dataclass
class _Insertion:
    graph: Graph
    formats: Mapping[str, Format]
    weights: Mapping[str, QuantisedWeights]
    cells: Mapping[str, QuantisedCells]
    builder: Builder = field(init=False)
    standing: dict[str, str] = field(default_factory=dict)
    """Tensor -> the dequantised one that is read instead."""
    levels: dict[str, str] = field(default_factory=dict)
    """Tensor -> the integers that stand for it."""

    def run(self) -> Graph:
        self.builder = rebuild(self.graph)
        for name in self.graph.sources:
            self._quantise(name)
        for node in self.graph.nodes:
            self.builder.node_name = node.name
            if node.key in self.cells:
                self._add_cells(node, self.cells[node.key])
                continue
            self._add(node)
            for name in filter(None, node.outputs):
                self._quantise(name)
        self.builder.copy_outputs(self.graph, lambda name: self.standing.get(name, name))
        return drop_unused(self.builder.build())

    def _add(self, node: Node) -> None:
        inputs = [self.standing.get(name, name) for name in node.inputs]
        if node.key in self.weights:
            inputs = [inputs[0], *self._constants(node, self.weights[node.key]), *inputs[3:]]
        self.builder.add(node.op, inputs, node.outputs, node.name)

    def _add_cells(self, node: Node, cells: QuantisedCells) -> None:
        """A recurrent layer in integers; its outputs are quantised as they come."""
        made = cells.layer.emit(self.builder, self.levels[cells.layer.source], cells.form, cells.memory)
        scale, zero = np.float32(OUTPUTS.scale), np.array(OUTPUTS.zero, OUTPUTS.dtype)
        constants = [self._constant(np.asarray(scale), "cells_scale"), self._constant(zero, "cells_zero_point")]
        for name, levels in zip(node.outputs[:2], made, strict=False):
            if name:
                self.levels[name] = levels
                self.builder.add(DequantizeLinear(), [levels, *constants], [name], f"{node.name}_dequantize")

    def _quantise(self, name: str) -> None:
        form = self.formats.get(name)
        if form is None:
            return
        scale, zero = np.float32(form.scale), np.array(form.zero, form.dtype)
        constants = [self._constant(np.asarray(scale), f"{name}_scale"), self._constant(zero, f"{name}_zero_point")]
        node = self.builder.node_name or name
        (levels,) = self.builder.add(
            QuantizeLinear(), [name, *constants], [self.builder.fresh(f"{name}_quantized")], f"{node}_quantize"
        )
        self.levels[name] = levels
        made = self.builder.fresh(f"{name}_dequantized")
        (self.standing[name],) = self.builder.add(
            DequantizeLinear(), [levels, *constants], [made], f"{node}_dequantize"
        )

    def _constants(self, node: Node, weights: QuantisedWeights) -> list[str]:
        names = [self._dequantised(weights.levels, weights.scales, weights.axis, node.inputs[1])]
        if weights.bias is None:
            return [*names, *node.inputs[2:3]]
        x_scale = self.formats[node.inputs[0]].scale
        scales = weights.bias_scales(x_scale)
        hint = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else f"{node.name}_bias"
        return [*names, self._dequantised(weights.bias_levels(x_scale), scales, 0, hint)]

    def _dequantised(self, levels: Array, scales: Array, axis: int | None, hint: str) -> str:
        per_tensor = axis is None or scales.size == 1
        shape = () if per_tensor else (scales.size,)
        constants = [
            self._constant(levels, f"{hint}_quantized"),
            self._constant(np.asarray(scales, np.float32).reshape(shape), f"{hint}_scale"),
            self._constant(np.zeros(shape, levels.dtype), f"{hint}_zero_point"),
        ]
        op = DequantizeLinear(0 if axis is None or per_tensor else axis)
        return self.builder.add(op, constants, [self.builder.fresh(f"{hint}_dequantized")], f"{hint}_dequantize")[0]

    def _constant(self, array: Array, hint: str) -> str:
        return self.builder.constant(array, hint)
