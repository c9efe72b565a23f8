"""An exported decoder with a number of tokens and of earlier ones: everything but the tokens themselves is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.past_key_values.signature import IDS, POSITIONS, Signature, signature_of
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

TABLES = {"Gather": (0,), "GroupQueryAttention": (7, 8), "RotaryEmbedding": (2, 3)}
"""Operands of operators that have a row for every position, if they are chosen by positions."""


@dataclass(frozen=True)
class Exported:
    """One graph."""

    proto: onnx.ModelProto
    where: str
    signature: Signature

    @staticmethod
    def read(path: Any) -> Exported:
        proto, _ = onnx_file.read(path)
        return Exported(proto, str(path), signature_of(proto, str(path)))

    @property
    def parameters(self) -> int:
        """Elements of its weights."""
        return sum(int(np.prod(tensor.dims)) for tensor in self.proto.graph.initializer)

    def positions(self) -> int | None:
        """The most tokens that it has rows for, if it has a table of positions."""
        weights = {tensor.name: tuple(tensor.dims) for tensor in self.proto.graph.initializer}
        rows = [shape[0] for shape in _position_tables(self.proto.graph, weights, {IDS})]
        return min(rows, default=None)


def _position_tables(graph: onnx.GraphProto, weights: Mapping[str, Shape], seen: set[str]) -> list[Shape]:
    """Shapes of weights of which positions choose rows: those that nothing about the tokens themselves does."""
    found = list[Shape]()
    for node in onnx_file.live_nodes(graph):
        for inner in onnx_file.subgraphs(node):
            own = {tensor.name: tuple(tensor.dims) for tensor in inner.initializer}
            found += _position_tables(inner, {**weights, **own}, {*seen})
        by_ids = node.op_type not in ("Shape", "Size") and any(name in seen for name in onnx_file.reads(node))
        seen |= set(node.output) if by_ids else set()
        if node.op_type == "Gather" and (node.input[1] in seen or node.input[1] in weights):
            continue
        tables = [weights.get(node.input[at], ()) for at in TABLES.get(node.op_type, ()) if at < len(node.input)]
        found += [shape for shape in tables if len(shape) == 2]
    return found


@dataclass(frozen=True)
class Fixed:
    """A model, and what the importer is told about it."""

    proto: onnx.ModelProto
    shapes: Mapping[str, Shape]
    bind: Mapping[str, Array]


def fixed(exported: Exported, tokens: int, past: int = 0, presents: bool = False, is_later: bool = False) -> Fixed:
    """For this number of tokens after `past` others; keys and values of those are inputs if there are any."""
    signature, total = exported.signature, past + tokens
    places = np.arange(past, total)
    bind: dict[str, Array] = {
        name: np.array(size) for name, size in _lengths(past, tokens) if name in signature.lengths
    }
    if signature.mask:
        bind[signature.mask] = np.ones((1, total), np.int64)
    if signature.positions:
        bind[signature.positions] = places[None] if signature.positions == POSITIONS[0] else places
    if signature.branch:
        bind[signature.branch] = np.array([is_later])
    shapes: dict[str, Shape] = {IDS: (1, tokens)}
    for one in signature.past:
        if past:
            shapes[one.name] = one.shape(past)
        else:
            bind[one.name] = np.zeros(one.shape(0), np.float32)
    wanted = [signature.logits, *(signature.presents if presents else ())]
    return Fixed(_of_integers(exported.proto, wanted), shapes, bind)


def _lengths(past: int, tokens: int) -> tuple[tuple[str, int], ...]:
    return ("past_sequence_length", past), ("total_sequence_length", past + tokens), ("sequence_length", tokens)


def _of_integers(proto: onnx.ModelProto, outputs: list[str]) -> onnx.ModelProto:
    """With tokens of 32 bits, and these outputs alone."""
    made = onnx.ModelProto()
    made.ir_version = proto.ir_version
    made.opset_import.extend(proto.opset_import)
    made.graph.CopyFrom(proto.graph)
    for value in made.graph.input:
        if value.name == IDS:
            value.type.tensor_type.elem_type = TensorProto.INT32
    kept = [value for value in made.graph.output if value.name in outputs]
    del made.graph.output[:]
    made.graph.output.extend(sorted(kept, key=lambda value: outputs.index(value.name)))
    return made
