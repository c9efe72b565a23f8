"""Which constants of a network are weights, and which of them learn."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.records import dataclass

PLACES = {
    "Conv": ("W", "B"), "ConvTranspose": ("W", "B"), "MatMul": ("A", "B", "C"), "Add": ("A", "B"), "Mul": ("A", "B"),
    "PRelu": ("B",), "BatchNormalization": ("scale", "B"), "LayerNormalization": ("Scale", "B"),
    "RMSNormalization": ("scale",), "GroupNormalization": ("scale", "bias"), "Gather": ("X",),
    "LSTMCells": ("R", "P"), "GRUCells": ("R", "B"), "RNNCells": ("R",),
}  # fmt: skip
"""Operands of operators that are weights where they are constants."""

MOVEMENT = {"Reshape", "Transpose", "Slice", "Concat", "Expand", "Identity", "Cast"}
"""What may stand between a weight and the operator that it belongs to."""

BEGINS_LAYER = {"Conv", "ConvTranspose", "MatMul", "Gather"}
"""Operators that a layer begins with; weights of others belong to the layer before."""

MASK = 1e4
"""Constants with larger elements are masks, or positions."""


@dataclass(frozen=True)
class Weight:
    name: str
    layer: int
    """The number of its layer, counted from the input."""


def weights_of(graph: Graph, known: Collection[str] = ()) -> list[Weight]:
    """All weights in the order of their layers: constants that are used as one, and those that are `known` to be."""
    layer, found = 0, dict[str, Weight]()
    for node in graph.nodes:
        used = {name: sources(graph, tensor) for name, tensor in node.operands().items()}
        own = [used[name] for name in PLACES.get(node.op.kind, ()) if used.get(name)]
        layer += bool(own) and node.op.kind in BEGINS_LAYER
        usual = [tensor for parts in own for tensor in parts if _is_weight(graph, tensor, node)]
        named = [tensor for parts in used.values() for tensor in parts if tensor in known]
        for tensor in (*usual, *named):
            if graph.constants[tensor].dtype == np.float32:
                found.setdefault(tensor, Weight(tensor, layer))
    return list(found.values())


def known_of(weights: Sequence[Weight], known: Collection[str]) -> Sequence[Weight]:
    """Only those that are known, where some of them are."""
    return [weight for weight in weights if weight.name in known] or weights


def sources(graph: Graph, tensor: str) -> tuple[str, ...]:
    """The constants that a tensor is a rearrangement of, or the sum of (both biases of a recurrent layer)."""
    if tensor in graph.constants:
        return (tensor,)
    node = graph.producers.get(tensor)
    if node is None or not (node.op.kind in MOVEMENT or node.op.kind == "Add"):
        return ()
    parts = [sources(graph, name) for name in node.inputs if name]
    return tuple(name for part in parts for name in part) if all(parts) else ()


def _is_weight(graph: Graph, tensor: str, node: Node) -> bool:
    value = graph.constants[tensor]
    if value.dtype != np.float32 or not value.size or not np.all(np.abs(value) < MASK):
        return False
    return value.size > 1 or node.op.kind not in ("Add", "Mul", "MatMul", "Gather")


def chosen(
    weights: Sequence[Weight], asked: str | Sequence[str], graph: Graph, by_position: Sequence[Weight] = ()
) -> tuple[str, ...]:
    """The names of the weights that learn: all, those of the last layers, or those that are named; also several of
    these. All and the last ones are counted among `by_position`, if there are any."""
    if not weights:
        raise CompileError("trainable", "the network has no weights in floats", "train a network with float layers")
    names = words_of(asked)
    if not names:
        raise CompileError("trainable", "nothing is trainable", "name weights, or use all, last:2 or lora:4")
    counted = by_position or weights
    return tuple(dict.fromkeys(found for name in names for found in _meant(weights, counted, name, graph)))


def words_of(asked: str | Sequence[str]) -> list[str]:
    """`last:2,head.bias` as its two words."""
    words = asked.split(",") if isinstance(asked, str) else asked
    return [word.strip() for word in words if word.strip()]


def _meant(weights: Sequence[Weight], counted: Sequence[Weight], word: str, graph: Graph) -> Sequence[str]:
    if word == "all":
        return [weight.name for weight in counted]
    if word.startswith("last:"):
        return _last(counted, word)
    return _named(weights, word, graph.constants)


def _last(weights: Sequence[Weight], asked: str) -> tuple[str, ...]:
    layers = sorted({weight.layer for weight in weights})
    number = asked.removeprefix("last:")
    if not number.isdecimal() or not 1 <= int(number) <= len(layers):
        what = f"the network has {len(layers)} layers with weights in floats"
        raise CompileError(f"trainable '{asked}'", what, f"use last:1 to last:{len(layers)}")
    wanted = set(layers[-int(number) :])
    return tuple(weight.name for weight in weights if weight.layer in wanted)


def _named(weights: Sequence[Weight], name: str, constants: dict[str, Array] | object) -> list[str]:
    """A weight by its name, or all of a module by the beginning of theirs."""
    names = [weight.name for weight in weights]
    if name in names:
        return [name]
    inside = [known for known in names if known.startswith((f"{name}.", f"{name}/"))]
    if inside:
        return inside
    near = difflib.get_close_matches(name, names, 3, 0.3) or names[:3]
    raise CompileError(f"trainable '{name}'", "is no weight of the network", f"there are {', '.join(near)}")
