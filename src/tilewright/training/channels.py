"""Weights of which only some rows learn: `conv.weight[8:16]` are eight of its filters. A convolution or product becomes
several, side by side, so that what is frozen stays a constant and has no gradient."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.slice import Slice, of_ranges
from tilewright.passes.rewriting import rewrite
from tilewright.training.trainable import words_of

PART = re.compile(r"(.+)\[(\d*):(\d*)\]")
Span = tuple[int, int]


def with_parts(
    graph: Graph, names: Collection[str], asked: str | Sequence[str]
) -> tuple[Graph, str | Sequence[str], tuple[str, ...]]:
    """The network with constants of their own for the rows of weights that are asked for, what is asked for of it, and
    the names of these constants."""
    found: dict[str, list[Span]] = {}
    words = words_of(asked)
    for place, word in enumerate(words):
        match = PART.fullmatch(word)
        if match and word not in names and match[1] in names:
            first, end = _span(graph, word, match)
            found.setdefault(match[1], []).append((first, end))
            words[place] = _named(match[1], (first, end))
    if not found:
        return graph, asked, ()
    _check_no_count(words)
    for name, spans in found.items():
        _check_apart(name, spans, words)
    cuts = {name: _cuts(graph.types[name].shape[0], spans) for name, spans in found.items()}
    _check_free(graph, cuts)
    parts = tuple(_named(name, span) for name, spans in found.items() for span in spans)
    return rewrite(graph, partial(_cut, graph, cuts)), words, parts


def _span(graph: Graph, word: str, match: re.Match[str]) -> Span:
    shape = graph.types[match[1]].shape
    rows = shape[0] if shape else 0
    first, end = int(match[2] or 0), int(match[3] or rows)
    if not 0 <= first < end <= rows:
        what = f"'{match[1]}' has {rows} rows" if shape else f"'{match[1]}' is one number"
        hint = f"for example {match[1]}[0:{max(rows // 2, 1)}]" if shape else f"use {match[1]}"
        raise CompileError(f"trainable '{word}'", what, hint)
    return first, end


def _check_apart(name: str, spans: list[Span], words: Sequence[str]) -> None:
    spans.sort()
    twice = next((after for before, after in pairwise(spans) if after[0] < before[1]), None)
    if twice is not None or name in words:
        again = _named(name, twice) if twice else name
        what = "has rows that are named twice" if twice else "is named as a whole and in parts"
        raise CompileError(f"trainable '{again}'", what, "name every row once")


def _check_no_count(words: Sequence[str]) -> None:
    counted = next((word for word in words if word.startswith("last:")), None)
    if counted is not None:
        what = "counts layers, which rows of a weight beside it are parts of"
        raise CompileError(f"trainable '{counted}'", what, "name the weights of those layers")


def _check_free(graph: Graph, cuts: Mapping[str, Sequence[Span]]) -> None:
    names = (_named(name, span) for name, spans in cuts.items() for span in spans)
    taken = next((name for name in names if name in graph.types), None)
    if taken is not None:
        raise CompileError(f"trainable '{taken}'", "is the name of another tensor of the network", "rename that tensor")


def _cuts(rows: int, spans: Sequence[Span]) -> list[Span]:
    """All rows, those between the spans, too."""
    edges = sorted({0, rows, *(edge for span in spans for edge in span)})
    return list(pairwise(edges))


def _named(name: str, span: Span) -> str:
    return f"{name}[{span[0]}:{span[1]}]"


def _cut(graph: Graph, cuts: Mapping[str, Sequence[Span]], node: Node, builder: Builder) -> Mapping[str, str] | None:
    read = next((name for name in node.inputs if name in cuts), None)
    if read is None:
        return None
    spans = cuts[read]
    parts = [_part(builder, graph, read, span) for span in spans]
    axis = _result_axis(graph, node, read)
    if axis is None or len(set(node.inputs) & cuts.keys()) > 1:
        return _joined(graph, cuts, node, builder)
    made = [
        builder.add(node.op, _operands(builder, graph, node, part, span), None, node.name)[0]
        for part, span in zip(parts, spans, strict=True)
    ]
    builder.add(Concat(axis), made, node.outputs, node.name)
    return {node.key: node.key}


def _part(builder: Builder, graph: Graph, name: str, span: Span) -> str:
    """A constant for some rows, the same one wherever they are read."""
    part = _named(name, span)
    return part if part in builder.constants else builder.constant(graph.constants[name][slice(*span)].copy(), part)


def _result_axis(graph: Graph, node: Node, weight: str) -> int | None:
    """The axis of the result along which the weight's rows are its channels; None where they are something else."""
    operands, rank = node.operands(), len(graph.types[node.key].shape)
    match node.op:
        case Conv(groups=1) as op if operands["W"] == weight and not {"mul", "add"} & operands.keys():
            return rank - 1 if op.channels_last else 1
        case MatMul(trans_b=True, perm_y=(), perm_b=()) if operands["B"] == weight and rank > 1:
            return rank - 1 if len(graph.types[weight].shape) == 2 and not {"mul", "add"} & operands.keys() else None
    return None


def _operands(builder: Builder, graph: Graph, node: Node, part: str, span: Span) -> list[str]:
    """Those of some channels: the first as it is, the rows of the weight, and what is added to these channels."""
    first, weight, *added = node.inputs
    rows = graph.types[weight].shape[0]
    return [first, part, *(_sliced(builder, name, rows, span) for name in added)]


def _sliced(builder: Builder, name: str, rows: int, span: Span) -> str:
    shape = builder.types[name].shape if name else ()
    if not shape or shape[-1] != rows or shape[-1] == 1:
        return name
    return builder.add(of_ranges(shape, {len(shape) - 1: (*span, 1)}), [name])[0]


def _joined(graph: Graph, cuts: Mapping[str, Sequence[Span]], node: Node, builder: Builder) -> Mapping[str, str]:
    """The node as it is, of weights that are put together again."""
    whole = {
        name: builder.add(Concat(0), [_part(builder, graph, name, span) for span in cuts[name]])[0]
        for name in dict.fromkeys(node.inputs)
        if name in cuts
    }
    builder.add(node.op, [whole.get(name, name) for name in node.inputs], node.outputs, node.name)
    return {name: name for name in node.outputs if name}


def rejoined(graph: Graph) -> Graph:
    """The network with its weights, which are constants again, and layers in one piece."""
    return rewrite(graph, partial(_rejoin, graph))


def _rejoin(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not isinstance(node.op, Concat):
        return None
    if node.op.axis == 0 and (whole := _whole(graph, node.inputs)):
        return {node.key: _constant(graph, builder, whole, node.inputs)}
    layers = [graph.producers[name] for name in node.inputs if name in graph.producers]
    alike = {(layer.op, layer.inputs[0]) for layer in layers if isinstance(layer.op, Conv | MatMul)}
    parts = [layer.inputs[1] for layer in layers if len(layer.inputs) > 1]
    if len(alike) != 1 or len(parts) != len(node.inputs) or not (whole := _whole(graph, parts)):
        return None
    added = {tuple(_unsliced(graph, name) for name in layer.inputs[2:]) for layer in layers}
    if len(added) != 1 or node.op.axis != _result_axis(graph, layers[0], parts[0]):
        return None
    weight = _constant(graph, builder, whole, parts)
    builder.add(layers[0].op, [layers[0].inputs[0], weight, *added.pop()], node.outputs, node.name)
    return {node.key: node.key}


def _whole(graph: Graph, parts: Sequence[str]) -> str:
    """The weight that constants are all rows of, in order; empty where they are none."""
    match = PART.fullmatch(parts[0])
    if match is None or not all(name in graph.constants for name in parts):
        return ""
    ends = [0, *accumulate(graph.types[name].shape[0] for name in parts if graph.types[name].shape)]
    expected = [_named(match[1], span) for span in pairwise(ends)]
    return match[1] if list(parts) == expected and match[1] not in graph.types else ""


def _constant(graph: Graph, builder: Builder, whole: str, parts: Sequence[str]) -> str:
    """The same one wherever it is read."""
    if whole in builder.constants:
        return whole
    return builder.constant(np.concatenate([graph.constants[name] for name in parts]), whole)


def _unsliced(graph: Graph, name: str) -> str:
    node = graph.producers.get(name)
    return node.inputs[0] if node is not None and isinstance(node.op, Slice) else name
