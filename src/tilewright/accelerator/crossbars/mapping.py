"""Layers that crossbars compute, before the reference is taken: what their cells make of products is what is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from math import prod

from tilewright.accelerator.crossbars.cells import Cells
from tilewright.accelerator.crossbars.operators import OFFSETS, CrossbarConv
from tilewright.accelerator.crossbars.plan import Place, Wanted, plan
from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.passes import APPROXIMATE, SAME, Pass
from tilewright.passes.rewriting import rewrite


def mapping_pass(name: str, cells: Cells, crossbars: int) -> Pass:
    """With noise, or an ADC that loses something, the network is another one."""
    numbers = SAME if cells.is_exact(cells.rows) else APPROXIMATE
    return Pass(f"crossbars of {name}", partial(_run, name, cells, crossbars), numbers=numbers)


def _run(name: str, cells: Cells, crossbars: int, graph: Graph) -> Graph:
    found = [node for node in graph.nodes if (weights := filters_of(graph, node)) is not None and weights.size]
    wanted = [_wanted(graph, node, cells) for node in found]
    places = plan(wanted, crossbars)
    held = {node.key: place for node, place in zip(found, places, strict=True) if place is not None}
    made = rewrite(graph, partial(_placed, graph, cells, held))
    return replace(made, notes=(*made.notes, *_notes(name, crossbars, wanted, places)))


def filters_of(graph: Graph, node: Node) -> Array | None:
    """Weights [f, ...] of a layer that crossbars can hold; None for others."""
    first, *others = [graph.types.get(tensor) for tensor in node.inputs[:2]] or [None]
    weights = graph.constants.get(node.inputs[1]) if others else None
    if first is None or weights is None or first.dtype not in OFFSETS or weights.dtype != "int8":
        return None
    op = node.op
    if type(op) is Conv:
        is_plain = op.groups == 1 and weights.ndim == 4 and op.activation is None
        return weights if is_plain else None
    if type(op) is not MatMul or weights.ndim != 2 or len(first.shape) != 2 or not _is_plain(graph, node, op):
        return None
    return weights if op.trans_b else weights.T


def _is_plain(graph: Graph, node: Node, op: MatMul) -> bool:
    """Rows times columns, with one value for all columns or one for each behind it."""
    shaped = (op.trans_a, op.perm_a, op.perm_b, op.perm_y, op.activation)
    columns = graph.types[node.key].shape[-1]
    per_column = [graph.constants.get(name) for name in node.inputs[2:] if name]
    return not any(shaped) and all(one is not None and one.size in (1, columns) for one in per_column)


def _wanted(graph: Graph, node: Node, cells: Cells) -> Wanted:
    weights = present(filters_of(graph, node), node.name, "is no layer of crossbars")
    length, filters = prod(weights.shape[1:]), len(weights)
    down, across = cells.blocks(length, filters)
    return Wanted(node.name, down * across, graph.types[node.key].elements // filters, length * across)


def _notes(name: str, crossbars: int, wanted: list[Wanted], places: list[Place | None]) -> list[str]:
    """What a user would not expect."""
    both = list(zip(wanted, places, strict=True))
    large = [f"{name}: {one.name} takes {one.crossbars} crossbars, there are {crossbars}: it stays on the cores"
             for one, place in both if place is None]  # fmt: skip
    spilled = [one.name for one, place in both if place is not None and not place.resident]
    if spilled:
        large.append(f"{name}: written at every run, for want of crossbars ({crossbars}): {', '.join(spilled)}")
    return large


def _placed(
    graph: Graph, cells: Cells, held: Mapping[str, Place], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    place = held.get(node.key)
    if place is None:
        return None
    own = replace(cells, first=place.first, copies=place.copies, resident=int(place.resident))
    if isinstance(node.op, MatMul):
        return _product(graph, node, node.op, own, builder)
    given = {one.name: getattr(node.op, one.name) for one in fields(Conv)}
    builder.add(CrossbarConv(**given, cells=own), node.inputs, node.outputs, node.name)
    return {node.key: node.key}


def _product(graph: Graph, node: Node, op: MatMul, cells: Cells, builder: Builder) -> Mapping[str, str]:
    """A product of matrices as a convolution of images of one pixel."""
    weights = present(filters_of(graph, node), node.name, "is no layer of crossbars")
    rows, length = graph.types[node.inputs[0]].shape
    image = builder.add(Reshape((rows, length, 1, 1)), [node.inputs[0]])[0]
    w = builder.constant(weights.reshape(*weights.shape, 1, 1).copy())
    behind = [builder.constant(graph.constants[name].reshape(-1)) if name else "" for name in node.inputs[2:]]
    conv = CrossbarConv((1, 1), (1, 1), (0, 0, 0, 0), 1, op.a_zero, op.b_zero, op.requant, cells=cells)
    found = builder.add(conv, [image, w, *behind], name=node.name)[0]
    builder.add(Reshape((rows, len(weights))), [found], node.outputs, node.name)
    return {node.key: node.key}
