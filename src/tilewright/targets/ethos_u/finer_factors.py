"""Rectifiers and products of 16 bits in Vela's streams, with TensorFlow Lite's factors: Vela's are of 24 bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.frontends.tflite.file import Operator, Subgraph, Tensor, read
from tilewright.ir.tflite_rounding import SCALE_BITS, multiplier
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.sim.ethos_u.stream import CODE, IS_LONG, code_of

COARSE_KINDS = ("RELU", "LEAKY_RELU", "MUL")
COARSE = 1 << 7
"""What factors of 24 bits are multiples of."""
ROUNDINGS = 3
"""Products and quotients of 24 bits that a factor comes from: each is off by half of that."""
NPU_OPERATOR = "ethos-u"

Factor = tuple[int, int]
"""A multiplier, and the bits by which its product is shifted."""


def with_finer_factors(given: bytes, made: bytes) -> bytes:
    """The file that Vela made of a given one."""
    wanted = [factor for graph in read(given).subgraphs for factor in _factors(graph)]
    return _corrected(made, wanted) if wanted else made


def _factors(graph: Subgraph) -> Iterator[Factor]:
    for operator in graph.operators:
        if operator.kind not in COARSE_KINDS:
            continue
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


def _corrected(made: bytes, wanted: list[Factor]) -> bytes:
    (graph, *_) = read(made).subgraphs
    for operator in graph.operators:
        stream = graph.tensors[operator.inputs[0]].value
        if operator.kind == NPU_OPERATOR and stream is not None:
            before = stream.tobytes()
            made = made.replace(before, _finer(before, wanted), 1)
    return made


def _finer(stream: bytes, wanted: list[Factor]) -> bytes:
    payload = read_payload(stream, "the command stream")
    words = payload.words.copy()
    for at in _scales(words):
        found = int(words[at + 1]), int(words[at]) >> 16
        near = [mul for mul, shift in wanted if shift == found[1] and abs(mul - found[0]) <= ROUNDINGS * COARSE]
        if near and found[0] % COARSE == 0:
            words[at + 1] = near[0]
    return np.concatenate([payload.before, words]).astype("<u4").tobytes()


def _scales(words: Array) -> Iterator[int]:
    """Where commands are that set the factor of results."""
    code, at = code_of("OFM_SCALE"), 0
    while at < len(words):
        is_long = bool(int(words[at]) & IS_LONG)
        if is_long and int(words[at]) & CODE == code and at + 1 < len(words):
            yield at
        at += 2 if is_long else 1
