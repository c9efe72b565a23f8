"""Sums of two quantised tensors on ITA: products with two diagonal tiles, one inner block for each of them. ITA takes
fewer cycles for that than cores for the sum, and the tensors stay in tiles."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes import Pass, none_left
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import Scale
from tilewright.targets.ita.jobs import LINEAR, ItaLayer, layer_words
from tilewright.targets.ita.layout import BIAS_BYTES, SIDE, packed_bias, unpacked_bias
from tilewright.targets.ita.linear import CUBE
from tilewright.targets.ita.op import TILE, Ita, batch_of, check_biases, check_tiles, leading
from tilewright.targets.ita.requantising import Fitted, fitted
from tilewright.targets.ita.tiling import ItaRows, ItaTiles

MOST_WEIGHT = 127


@dataclass(frozen=True)
class ItaSum(Ita):
    """scale(A @ W[0]' + B @ W[1]' + bias), tile by tile: A[..., r, c] and B[..., r, c] in tiles."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "W", "bias")
    scale: Scale = field(default_factory=Scale)

    def index(self, shapes: Shapes) -> Index:
        before, (r, c) = leading(shapes["A"]), loops("r c")
        tiles = (*before, r, c, *TILE)
        return {"A": tiles, "B": tiles, "W": (whole(2), *TILE), "bias": (whole(1), whole(BIAS_BYTES)), "Y": tiles}

    def macs(self, shapes: Shapes) -> int:
        return 2 * math.prod(shapes["A"][:-2]) * CUBE

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "A", "B")
        if types["A"] != types["B"]:
            raise Refusal(f"A is {types['A']} and B {types['B']}")
        if types["W"] != TensorType("int8", (2, SIDE, SIDE)):
            raise Refusal(f"W is {types['W']}, two tiles of {SIDE} x {SIDE} are expected")
        check_biases(types, {"bias": 1})

    def numpy(self, A: Array, B: Array, W: Array, bias: Array) -> Array:
        first, second = (exact_matmul(x.astype(np.int32), w.T.astype(np.int32)) for x, w in ((A, W[0]), (B, W[1])))
        return self.scale(first.astype(np.int64) + second + unpacked_bias(bias))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        rows, columns = types["A"].shape[-4:-2]
        words = layer_words(ItaLayer(LINEAR, rows, 2, columns, scales=[self.scale]))
        return {"batch": batch_of(types["A"]), "tiles": rows * columns, "layer": words}


# ---- rewriting ----


@dataclass(frozen=True)
class Sum:
    """Factors of two tensors, and the way from their sum to the result."""

    factors: tuple[int, int]
    found: Fitted


def summed(graph: Graph, node: Node) -> Sum:
    """A `Refusal` says why ITA does not take a node."""
    op = node.op
    if not isinstance(op, QLinearAdd):
        raise Refusal("it is not an addition of quantised tensors")
    types = {graph.types[name] for name in node.inputs} | {graph.types[node.key]}
    if len(types) != 1 or {kind.dtype for kind in types} != {"int8"} or len(graph.types[node.key].shape) < 2:
        raise Refusal("its operands and its result are not all matrices of int8 of one shape")
    reason = "its factors are not 8-bit factors times a common one"
    for first in range(1, MOST_WEIGHT + 1):
        factor, rest = divmod(op.mul_a, first)
        if rest or factor <= 0 or op.mul_b % factor or not 0 < op.mul_b // factor <= MOST_WEIGHT:
            continue
        found = fitted(op.requant, np.array([factor]), np.array([op.offset]), np.zeros(SIDE, np.int64))
        if isinstance(found, Fitted):
            return Sum((first, op.mul_b // factor), found)
        reason = found
    raise Refusal(reason)


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_on_ita, graph, set()))


def _taken(graph: Graph, node: Node, sums: Collection[str] = ()) -> Sum:
    """A sum of which ITA has made a part, maybe one of the sums before."""
    makers = [graph.producers.get(name) for name in node.inputs if name not in sums]
    if len(makers) == len(node.inputs) and not any(maker and isinstance(maker.op, ItaRows) for maker in makers):
        raise Refusal("nothing of it is made by ITA")
    return summed(graph, node)


def _on_ita(graph: Graph, sums: set[str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    try:
        one = _taken(graph, node, sums)
    except Refusal:
        return None
    sums.add(node.key)
    tiles = [builder.add(ItaTiles(), [name], name=node.name)[0] for name in node.inputs]
    diagonals = np.stack([np.eye(SIDE, dtype=np.int8) * np.int8(factor) for factor in one.factors])
    weights = builder.constant(diagonals, f"{node.name}_factors")
    bias = builder.constant(packed_bias(one.found.bias).reshape(1, BIAS_BYTES), f"{node.name}_bias")
    (made,) = builder.add(ItaSum(one.found.scale), [*tiles, weights, bias], name=node.name)
    rows, columns = graph.types[node.key].shape[-2:]
    builder.add(ItaRows(rows, columns), [made], node.outputs, node.name)
    return {name: name for name in node.outputs}


SUMS_ON_ITA = Pass("sums on ITA", run, ensures=none_left(_taken, "is a sum of tiles that ITA takes"))
"""Where an operand is in tiles already, and ITA has the sum to the bit."""
