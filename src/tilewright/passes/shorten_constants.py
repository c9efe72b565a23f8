"""Weights that 16 bits hold to the last digit are stored in 16 bits: those of a network in float16 or bfloat16.

Nothing is rounded: kernels turn such weights back into the same floats while they read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, element
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

FEWEST_ELEMENTS = 1024
"""For less, the code that reads them is longer than what is saved."""

SHORT = ("float16", "bfloat16")

Operators = tuple[type[Op], ...]


def run(graph: Graph, operators: Operators) -> Graph:
    short = _short_constants(graph, operators)
    made: dict[str, str] = {}

    def shorten(node: Node, builder: Builder) -> Mapping[str, str] | None:
        name = _weights(node, operators)
        if name not in short:
            return None
        if name not in made:
            made[name] = builder.constant(graph.constants[name].astype(element(short[name])), f"{name}_{short[name]}")
        inputs = [made[name] if tensor == name else tensor for tensor in node.inputs]
        if not isinstance(node.op, Gather):
            builder.add(node.op, inputs, node.outputs, node.name)
            return {node.key: node.key}
        (rows,) = builder.add(node.op, inputs)
        builder.add(Cast(), [rows], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, shorten) if short else graph


def _weights(node: Node, operators: Operators) -> str:
    """The tensor of a node that kernels can read in 16 bits."""
    if not isinstance(node.op, operators):
        return ""
    if isinstance(node.op, Gather):
        return node.inputs[0]
    if (isinstance(node.op, MatMul) and not node.op.perm_y) or (isinstance(node.op, Conv) and _has_channels(node.op)):
        return node.inputs[1]
    return ""


def _has_channels(op: Conv) -> bool:
    """Depthwise convolutions have few weights, and others than channels second kernels of their own."""
    return op.groups == 1 and not op.channels_last


def _short_constants(graph: Graph, operators: Operators) -> dict[str, str]:
    """The weights that every reader can take in 16 bits, with the type that holds them."""
    found = {}
    for name, array in graph.constants.items():
        readers = graph.consumers.get(name, [])
        if array.dtype != np.float32 or array.size < FEWEST_ELEMENTS or name in graph.outputs or not readers:
            continue
        alone = all(_weights(node, operators) == name and node.inputs.count(name) == 1 for node in readers)
        if alone and (dtype := _type(array)):
            found[name] = dtype
    return found


@cache
def _sample(size: int) -> slice:
    return slice(0, size, max(size // 64, 1))


def _type(array: Array) -> str:
    """The short type that holds all values exactly; a few are looked at first, as most arrays have none."""
    flat = array.reshape(-1)
    some = [dtype for dtype in SHORT if _holds(dtype, flat[_sample(flat.size)])]
    return next((dtype for dtype in some if _holds(dtype, flat)), "")


def _holds(dtype: str, values: Array) -> bool:
    with np.errstate(over="ignore"):
        back = values.astype(element(dtype)).astype(np.float32)
    return bool(np.array_equal(back, values) and np.isfinite(values).all())


def no_short_constants(graph: Graph, operators: Operators) -> Iterator[Complaint]:
    for name, dtype in _short_constants(graph, operators).items():
        yield f"constant '{name}'", f"has values that {dtype} holds, and kernels read it in that"


def shortening(*operators: type[Op]) -> Pass:
    """For a target whose kernels of these operators read weights of 16 bits."""
    return Pass(
        "shorten constants", partial(run, operators=operators), ensures=partial(no_short_constants, operators=operators)
    )


SHORTEN_CONSTANTS = shortening(Gather, MatMul, Conv)
SHORTEN_TABLES = shortening(Gather)
"""Where vectors multiply floats alone: weights in 16 bits would have slower kernels."""
