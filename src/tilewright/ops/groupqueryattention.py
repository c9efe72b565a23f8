from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._attention import LOWEST, attend, causal_bias, merge_heads, rotate, split_heads, table_rows
from tilewright.ops._compose import Compose
from tilewright.ops.less import Less
from tilewright.ops.lessorequal import LessOrEqual
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class GroupQueryAttention(Op):
    """Causal attention in which groups of heads share keys and values, with those of earlier steps in and all out.

    How many steps came before is known where `total_sequence_length` is constant; else the past is a buffer of fixed
    length, and the new steps go where `seqlens_k` says.
    """

    operands: ClassVar[tuple[str, ...]] = (
        "query", "key?", "value?", "past_key?", "past_value?", "seqlens_k", "total_sequence_length", "cos_cache?",
        "sin_cache?", "position_ids?", "attention_bias?",
    )  # fmt: skip

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        _refuse_others(node)
        q, k, v = _heads_of(make)
        steps = make.shape(q)[2]
        before = _before(node, steps)
        if node.attribute("do_rotary", 0):
            q, k = (_turned(make, heads, before) for heads in (q, k))
        keys, values = (_with_past(make, position, new, before) for position, new in ((3, k), (4, v)))
        bias = _bias(make, steps, make.shape(keys)[2], before)
        biases = [bias, *(name for name in node.inputs[10:11] if name)]
        y = attend(make, q, keys, values, node.attribute("scale", 0.0), biases, node.attribute("softcap", 0.0))
        return make.give(merge_heads(make, y), keys, values)


def _refuse_others(node: OnnxNode) -> None:
    node.ignore("kv_cache_bit_width", "rotary_interleaved")
    if any(node.has(position) for position in range(11, len(node.inputs))):
        raise Refusal("head_sink and scales of a quantised past are not supported", "export without them")
    for name, usual in (("smooth_softmax", 0), ("qk_output", 0), ("k_quant_type", "NONE"), ("v_quant_type", "NONE")):
        if node.attribute(name, usual) not in (usual, -1):
            raise Refusal(f"{name}={node.attribute(name, usual)} is not supported", "export without it")


def _heads_of(make: Compose) -> list[str]:
    node = make.node
    heads, shared = node.attribute("num_heads"), node.attribute("kv_num_heads")
    if node.has(1) and node.has(2):
        parts = list(node.inputs[:3])
    else:
        width = node.type(0).shape[-1] // (heads + 2 * shared)
        ends = (0, heads * width, (heads + shared) * width, (heads + 2 * shared) * width)
        parts = [make.part(node.inputs[0], -1, start, stop) for start, stop in pairwise(ends)]
    return [split_heads(make, part, count) for part, count in zip(parts, (heads, shared, shared), strict=True)]


def _before(node: OnnxNode, steps: int) -> int | None:
    """How many steps came before, or None where that is known only at run time."""
    past = node.type(3).shape[2] if node.has(3) else 0
    if not past:
        return 0
    total = node.constants[6]
    if total is None or node.type(0).shape[0] != 1:
        return None
    found = int(total.reshape(-1)[0]) - steps
    if not 0 <= found <= past:
        raise Refusal(f"a total of {found + steps} steps after {past} of the past, with {steps} new ones")
    return found


def _first(make: Compose) -> str:
    """The place of the first new step in each sequence: [batch, 1]."""
    lengths = make.reshape(make.node.inputs[5], (make.kind(make.node.inputs[5]).elements, 1))
    return make.sub(lengths, make.like(make.node.type(0).shape[1] - 1, lengths))


def _places(make: Compose, steps: int) -> str:
    """The place of every new step: [batch, step]."""
    first = _first(make)
    return make.add(first, make.constant(np.arange(steps).reshape(1, steps).astype(make.kind(first).element), "steps"))


def _turned(make: Compose, heads: str, before: int | None) -> str:
    node, steps = make.node, make.shape(heads)[2]
    if not node.has(7) or not node.has(8):
        raise Refusal("do_rotary without cos_cache and sin_cache")
    if node.has(9):
        positions: str | np.ndarray[tuple[int, ...], np.dtype[np.int32]] = node.inputs[9]
    else:
        known = None if before is None else np.arange(before, before + steps, dtype=np.int32).reshape(1, steps)
        positions = _places(make, steps) if known is None else known
    cosine, sine = (table_rows(make, node.inputs[at], positions) for at in (7, 8))
    return rotate(make, heads, cosine, sine, bool(node.attribute("rotary_interleaved", 0)))


def _with_past(make: Compose, position: int, new: str, before: int | None) -> str:
    """Keys or values of all steps."""
    if not make.node.has(position):
        return new
    past = make.node.inputs[position]
    if before is None:
        return _written(make, past, new)
    length, after = make.shape(past)[2], before + make.shape(new)[2]
    parts = [make.part(past, 2, 0, before), new, make.part(past, 2, min(after, length), length)]
    return make.join(2, *parts)


def _written(make: Compose, past: str, new: str) -> str:
    """The buffer of the past with the new steps at their places."""
    batch, steps = make.shape(new)[0], make.shape(new)[2]
    places = make.reshape(_places(make, steps), (batch, steps, 1))
    rows = np.broadcast_to(np.arange(batch).reshape(batch, 1, 1), (batch, steps, 1))
    where = make.join(-1, make.constant(rows.astype(make.kind(places).element), "rows"), places)
    by_step = (make.transpose(past, (0, 2, 1, 3)), where, make.transpose(new, (0, 2, 1, 3)))
    return make.transpose(make(ScatterND(), *by_step), (0, 2, 1, 3))


def _bias(make: Compose, steps: int, keys: int, before: int | None) -> str:
    """What hides later keys, and those before the window: [.., step, key]."""
    window = make.node.attribute("local_window_size", -1)
    if before is not None:
        return causal_bias(make, steps, keys, before, window)
    places = make.reshape(_places(make, steps), (make.node.type(0).shape[0], 1, steps, 1))
    columns = make.constant(np.arange(keys).astype(make.kind(places).element), "columns")
    none, lowest = (make.constant(np.float32(value).reshape(1), "bias") for value in (0.0, LOWEST))
    bias = make(Where(), make(LessOrEqual(), columns, places), none, lowest)
    if window <= 0:
        return bias
    first = make.sub(places, make.like(window - 1, places))
    return make(Where(), make(Less(), columns, first), lowest, bias)
