"""TensorFlow Lite's sum of two tensors of bytes, with its three roundings, as a sum with one, where no result differs.

Two bytes have 65,536 sums. The factors of a sum with one rounding are searched for near those of the scales; a summand
suits them if every one of these sums comes out as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

BYTES = ("int8", "uint8")
CLOSEST = 1024
"""Sums that are nearest to a tie: factors that suit these are tried on all."""


@dataclass(frozen=True)
class Reach:
    """What a kernel computes sums in: bits of the largest, without its sign, and the largest shift; and how far from
    the nearest factors others are tried."""

    bits: int
    shift: int
    near: int


REGISTER = Reach(31, 30, 12)


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _simplified(graph, node, builder))


def _simplified(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _found(graph, node)
    if found is None:
        return None
    (made,) = builder.add(found, node.inputs, node.outputs, node.name)
    return {node.key: made}


def _found(graph: Graph, node: Node) -> QLinearAdd | None:
    """What stands for a node."""
    if not isinstance(node.op, TfliteAdd):
        return None
    a, b = (graph.types[name].dtype for name in node.inputs)
    return same_sum(node.op, a, b, REGISTER) if a in BYTES and b in BYTES and node.op.requant.dtype in BYTES else None


@lru_cache(maxsize=256)
def same_sum(op: TfliteAdd, a: str, b: str, reach: Reach) -> QLinearAdd | None:
    """The sum with one rounding that gives the same of any two bytes, if one is found."""
    left, right = np.meshgrid(_every(a), _every(b), indexing="ij")
    wanted = op.numpy(left, right).astype(np.int64) - op.requant.zero_point
    ratios = _ratio(op, op.first), _ratio(op, op.second)
    near = _closest(left * ratios[0] + right * ratios[1] + _middle(op, ratios))
    for shift, first, second in _factors(ratios, reach):
        totals = left * first + right * second
        if _summand(totals.flat[near], wanted.flat[near], shift, op.requant) is None:
            continue
        summand = _summand(totals, wanted, shift, op.requant)
        if summand is not None and _fits(first, second, summand, shift, reach):
            return QLinearAdd(first, second, summand - (1 << (shift - 1)), _once(op.requant, shift))
    return None


def _every(dtype: str) -> Array:
    low, high = limits(dtype)
    return np.arange(low, high + 1, dtype=np.int64)


def _ratio(op: TfliteAdd, summand: Summand) -> float:
    """The scale of an operand over that of the result."""
    return summand.mul * op.mul * 2.0 ** (summand.exponent + op.exponent + op.left - 62)


def _middle(op: TfliteAdd, ratios: tuple[float, float]) -> float:
    return 0.5 - op.first.zero * ratios[0] - op.second.zero * ratios[1]


def _closest(sums: Array) -> Array:
    """Where the sums are that are nearest to where a result ends."""
    flat = sums.reshape(-1)
    return np.argpartition(np.abs(flat - np.round(flat)), CLOSEST)[:CLOSEST]


def _factors(ratios: tuple[float, float], reach: Reach) -> Iterator[tuple[int, int, int]]:
    """Shifts and factors, the finest and the nearest first."""
    largest = max(abs(ratio) for ratio in ratios)
    if not 0 < largest < 2**16:
        return
    most = reach.bits - 10 - int(np.floor(np.log2(largest)))
    steps = sorted(range(-reach.near, reach.near + 1), key=abs)
    nearby = sorted(((i, j) for i in steps for j in steps), key=lambda pair: abs(pair[0]) + abs(pair[1]))
    for shift in range(min(most, reach.shift), max(most - 2, 0), -1):
        first, second = (round(ratio * 2.0**shift) for ratio in ratios)
        for i, j in nearby:
            yield shift, first + i, second + j


def _summand(totals: Array, wanted: Array, shift: int, requant: Requant) -> int | None:
    """What to add for every total, shifted, to be the result, but for clipped ones; the middle of what suits."""
    low, high = requant.low - requant.zero_point, requant.high - requant.zero_point
    least = np.where(wanted > low, (wanted << shift) - totals, -(2**62)).max()
    most = np.where(wanted < high, ((wanted + 1) << shift) - 1 - totals, 2**62).min()
    if least > most or abs(least) >= 2**48 or abs(most) >= 2**48:
        return None
    return int((least + most) // 2)


def _fits(first: int, second: int, summand: int, shift: int, reach: Reach) -> bool:
    return 255 * (abs(first) + abs(second)) + abs(summand) + (1 << shift) < 1 << reach.bits


def _once(requant: Requant, shift: int) -> Requant:
    return Requant(shift, requant.dtype, requant.low, requant.high, requant.zero_point)


def one_rounding(graph: Graph) -> Iterator[Complaint]:
    """What was searched for is known: this takes no time."""
    for node in graph.nodes:
        if _found(graph, node) is not None:
            yield node.where, "rounds three times where once would give the same"


COLLAPSE_TFLITE_ADD = Pass("sums of bytes with one rounding", run, ensures=one_rounding)
