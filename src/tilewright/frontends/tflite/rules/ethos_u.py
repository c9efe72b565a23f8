"""Parts that Vela has compiled for an Ethos-U: custom operators with a command stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.frontends.tflite.file import Tensor
from tilewright.frontends.tflite.node import Node
from tilewright.ir.types import BYTES
from tilewright.ops._ethosu import EthosU
from tilewright.ops.cast import Cast
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.sim.ethos_u.payload import Payload, read_payload

STREAM, CONSTANTS, ARENA, FAST, FIRST_INPUT = range(5)
"""Positions of its operands."""
LARGEST = 1 << 28
"""Bytes of an arena: sizes come from an untrusted file."""
NO_CONSTANTS = np.zeros(16, np.uint8)


def ethos_u(node: Node) -> Sequence[str]:
    """Inputs and results have their places in the arena that the stream knows."""
    if node.count <= FIRST_INPUT:
        raise Refusal(f"has {node.count} inputs; a stream, constants, two arenas and inputs are expected")
    payload = _payload(node)
    results = [node.result(k) for k in range(len(node.operator.outputs))]
    given = [node.declared(k) for k in range(FIRST_INPUT, node.count)]
    arena = max([_bytes(node.declared(ARENA)), *(_end(one) for one in (*given, *results))])
    same = node.operator.inputs[FAST] == node.operator.inputs[ARENA]
    several = len(results) > 1
    if several and not {one.dtype for one in results} <= {"int8", "uint8"}:
        raise Refusal("has several results that are not all bytes", "compile it for the NPU in parts of one result")
    sizes = tuple(map(_bytes, results))
    op = EthosU(
        payload.npu or "", arena, 0 if same else _bytes(node.declared(FAST)), tuple(one.offset for one in given),
        tuple(one.offset for one in results), sizes, (sum(sizes),) if several else results[0].shape,
        "int8" if several else results[0].dtype,
        first=len(payload.before),
    ).of_stream(payload.words)  # fmt: skip
    words = node.add_constant(np.concatenate([payload.before, payload.words]).view(np.int32), "stream")
    constants = node.value(CONSTANTS) if node.has(CONSTANTS) else None
    weights = node.input(CONSTANTS) if constants is not None and constants.size else node.add_constant(NO_CONSTANTS)
    made = node.emit(op, words, weights, *(node.input(k) for k in range(FIRST_INPUT, node.count)))
    return _parts(node, made, results) if several else [made]


def _payload(node: Node) -> Payload:
    data = node.constant(STREAM, "the command stream")
    try:
        payload = read_payload(data.tobytes(), "the command stream")
    except CompileError as error:
        raise Refusal(f"its stream {error.what}", "compile the model for the NPU again") from None
    if payload.npu is None:
        raise Refusal("does not say for which NPU it was compiled, or for none that is known", "compile it again")
    return payload


def _bytes(tensor: Tensor) -> int:
    if tensor.dtype not in BYTES:
        raise Refusal(f"tensor '{tensor.name}' has elements of {tensor.dtype}")
    count = 1
    for size in tensor.shape:
        count *= size
    if count > LARGEST:
        raise Refusal(f"tensor '{tensor.name}' has more than {LARGEST} bytes")
    return count * BYTES[tensor.dtype]


def _end(tensor: Tensor) -> int:
    if not 0 <= tensor.offset < LARGEST:
        raise Refusal(f"tensor '{tensor.name}' has no place in the arena", "compile the model for the NPU again")
    return tensor.offset + _bytes(tensor)


def _parts(node: Node, made: str, results: Sequence[Tensor]) -> list[str]:
    """Each result out of the bytes of all."""
    found, at = [], 0
    total = sum(map(_bytes, results))
    for one in results:
        size = _bytes(one)
        part = node.emit(of_ranges((total,), {0: (at, at + size, 1)}).simplest((total,)), made)
        same = part if one.dtype == "int8" else node.emit(Cast(one.dtype), part)
        found.append(node.emit(Reshape(one.shape), same))
        at += size
    return found


RULES = {"ethos-u": ethos_u}
