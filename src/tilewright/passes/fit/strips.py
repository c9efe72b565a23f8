"""Layers computed together in strips of rows, so that large tensors between them never exist whole.

A layer makes the rows that a strip needs and that are not there yet; rows of the strip before that are still needed are
copied in front of them. The strips of the last result are written into it one after the other, in the place of an
operand that only they still need, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.ir.affine import Span
from tilewright.ir.graph import Builder, Graph, rebuild
from tilewright.ir.unused import drop_unused
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.slice import Slice
from tilewright.tiling.strips import RowLayer, StripPlan, StripRows, carrier_of


def in_strips(graph: Graph, plan: StripPlan, joined: bool = False) -> Graph:
    """The graph with some of its layers in strips, at the place of the last one of them. Strips of the last result are
    placed in it one by one, or joined in the end: where that is no work, as they are made in their places."""
    taken = {layer.node.key for layer in plan.layers}
    builder = rebuild(graph)
    for node in graph.nodes:
        if node.key not in taken:
            builder.copy_node(node, graph)
        elif node.key == plan.layers[-1].node.key:
            Strips(graph, plan, builder).emit_joined() if joined else Strips(graph, plan, builder).emit()
    builder.copy_outputs(graph)
    return drop_unused(builder.build())


@dataclass
class Strips:
    """Puts the layers of a plan into a graph that is being built."""

    graph: Graph
    plan: StripPlan
    builder: Builder
    windows: dict[str, tuple[str, Span]] = field(default_factory=dict)
    """The rows of a tensor that are there: the tensor that holds them, and which they are."""

    def emit(self) -> None:
        last = self.plan.layers[-1]
        carrier = carrier_of(self.graph, self.plan.layers)
        whole = carrier or self._empty(last)
        for number, parts in enumerate(self.plan.strips):
            for layer in self.plan.layers:
                if layer.node.key in parts:
                    self._layer(layer, parts[layer.node.key])
                    self._keep_rest(number, layer)
            rows, (start, _) = self.windows.pop(last.node.key)
            is_last = number + 1 == len(self.plan.strips)
            outputs = last.node.outputs if is_last else None
            (whole,) = self.builder.add(PlaceRows(last.axis, start), [whole, rows], outputs, last.node.name)
            if carrier:
                self.windows[carrier] = whole, (0, 0)

    def emit_joined(self) -> None:
        last, made = self.plan.layers[-1], []
        for number, parts in enumerate(self.plan.strips):
            for layer in self.plan.layers:
                if layer.node.key in parts:
                    self._layer(layer, parts[layer.node.key])
                    self._keep_rest(number, layer)
            made.append(self.windows.pop(last.node.key)[0])
        self.builder.add(Concat(last.axis), made, last.node.outputs, last.node.name)

    def _empty(self, layer: RowLayer) -> str:
        kind = self.graph.types[layer.node.key]
        zero = self.builder.constant(np.zeros((1,) * len(kind.shape), kind.element), "zero")
        return self.builder.add(Expand(kind.shape), [zero], None, layer.node.name)[0]

    def _layer(self, layer: RowLayer, part: StripRows) -> None:
        """The window of its result: what is kept of it, and what is new."""
        node = layer.node
        kept = self._rows(node.key, layer.axis, part.kept) if part.keeps else ""
        made = self._made(layer, part) if part.makes else ""
        window = kept or made
        if kept and made:
            (window,) = self.builder.add(Concat(layer.axis), [kept, made], None, node.name)
        self.windows[node.key] = window, (part.kept[0], part.made[1])

    def _made(self, layer: RowLayer, part: StripRows, outputs: Sequence[str] | None = None) -> str:
        node, shapes = layer.node, self.graph.operand_shapes(layer.node)
        box = {loop: (0, extent) for loop, extent in node.op.extents(shapes).items()} | {layer.loop: part.made}
        names = node.op.operand_names(len(node.inputs))
        inputs = [
            self._rows(tensor, layer.operands[name], part.reads[name]) if name in part.reads else tensor
            for name, tensor in zip(names, node.inputs, strict=True)
        ]
        return self.builder.add(node.op.at(shapes, box), inputs, outputs, node.name)[0]

    def _rows(self, tensor: str, axis: int, span: Span) -> str:
        """Some rows of a tensor: of its window, or of the whole one where it is not made in strips."""
        held, (first, _) = self.windows.get(tensor, (tensor, (0, 0)))
        shape = self.builder.types[held].shape
        start, count = span[0] - first, span[1] - span[0]
        if (start, count) == (0, shape[axis]):
            return held
        if held in self.graph.constants:
            rows = self.graph.constants[held][(slice(None),) * axis + (slice(*span),)]
            return self.builder.constant(np.ascontiguousarray(rows), held)
        starts = tuple(start if at == axis else 0 for at in range(len(shape)))
        sizes = tuple(count if at == axis else size for at, size in enumerate(shape))
        return self.builder.add(Slice(starts, (1,) * len(shape), sizes), [held], None, f"rows of {held}")[0]

    def _keep_rest(self, number: int, reader: RowLayer) -> None:
        """Of operands that nothing else of this strip reads, only the rows that the next one needs."""
        if number + 1 == len(self.plan.strips):
            return
        following = self.plan.strips[number + 1]
        for tensor in {name for name in reader.node.inputs if name in self.windows}:
            if self._readers[tensor] == reader.node.key and tensor in following and following[tensor].keeps:
                axis = self._axes[tensor]
                span = following[tensor].kept
                self.windows[tensor] = self._rows(tensor, axis, span), span

    @property
    def _readers(self) -> Mapping[str, str]:
        """The last layer that reads each tensor."""
        return {tensor: layer.node.key for layer in self.plan.layers for tensor in layer.node.inputs}

    @property
    def _axes(self) -> Mapping[str, int]:
        return {layer.node.key: layer.axis for layer in self.plan.layers}
