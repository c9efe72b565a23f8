"""Rectifiers and products of 16 bits in Vela's streams, with TensorFlow Lite's factors: Vela's are of 24 bits."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence

from tilewright.frontends.tflite.file import Operator, Subgraph, Tensor
from tilewright.ir.tflite_rounding import SCALE_BITS, multiplier
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.stream import CODE, IS_LONG, code_of
from tilewright.targets.ethos_u.debug_database import Operators

COARSE_KINDS = ("RELU", "LEAKY_RELU", "MUL")
COARSE = 1 << 7
"""What factors of 24 bits are multiples of."""
ROUNDINGS = 3
"""Products and quotients of 24 bits that a factor comes from: each is off by half of that."""

Factor = tuple[int, int]
"""A multiplier, and the bits by which its product is shifted."""


def factors_of(graph: Subgraph) -> dict[int, list[Factor]]:
    """TensorFlow Lite's, of the operators at these positions."""
    found = {at: list(_factors(graph, one)) for at, one in enumerate(graph.operators) if one.kind in COARSE_KINDS}
    return {at: factors for at, factors in found.items() if factors}


def put_factors(words: Array, operators: Operators, wanted: Mapping[int, Sequence[Factor]]) -> None:
    """Into the commands that the operators' own operations take them from. A rectifier that leaks has two."""
    places = _scales(words)
    for at, operator in sorted(operators.items()):
        before = bisect(places, at)
        if operator in wanted and before:
            place = places[before - 1]
            words[place + 1] = _finer(int(words[place + 1]), int(words[place]) >> 16, wanted[operator])


def _finer(found: int, shift: int, wanted: Sequence[Factor]) -> int:
    """The same factor with more bits; a factor that is none of the operator's stays."""
    near = [mul for mul, bits in wanted if bits == shift and abs(mul - found) <= ROUNDINGS * COARSE]
    return near[0] if near and found % COARSE == 0 else found


def _factors(graph: Subgraph, operator: Operator) -> Iterator[Factor]:
    x, y = (graph.tensors[ends[0]] for ends in (operator.inputs, operator.outputs))
    if x.dtype == "int16" and x.quantisation and y.quantisation:
        for slope in _slopes(graph, operator):
            mul, exponent = multiplier(slope * _scale(x) / _scale(y))
            yield mul, SCALE_BITS - exponent


def _slopes(graph: Subgraph, operator: Operator) -> tuple[float, ...]:
    """What the first operand's scale is multiplied by."""
    if operator.kind == "MUL":
        return (_scale(graph.tensors[operator.inputs[1]]),)
    return (1.0,) if operator.kind == "RELU" else (1.0, float(operator.options.get("Alpha", 0.0)))


def _scale(tensor: Tensor) -> float:
    return float(tensor.quantisation.scale[0]) if tensor.quantisation else 1.0


def _scales(words: Array) -> list[int]:
    """Where commands are that set the factor of results."""
    found, code, at = list[int](), code_of("OFM_SCALE"), 0
    while at < len(words):
        is_long = bool(int(words[at]) & IS_LONG)
        if is_long and int(words[at]) & CODE == code and at + 1 < len(words):
            found.append(at)
        at += 2 if is_long else 1
    return found
