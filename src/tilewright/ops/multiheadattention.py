from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._attention import attend, causal_bias, masked_bias, merge_heads, split_heads
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class MultiHeadAttention(Op):
    """softmax(scale * q @ k' + biases) @ v for every head; keys and values of earlier steps may come before."""

    operands: ClassVar[tuple[str, ...]] = (
        "query", "key?", "value?", "bias?", "key_padding_mask?", "attention_bias?", "past_key?", "past_value?",
    )  # fmt: skip

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, heads = Compose(node, emit), node.attribute("num_heads")
        if any(node.has(position) for position in range(8, len(node.inputs))) or node.must_give(3):
            raise Refusal(
                "past_sequence_length, cache_indirection and the scores are not supported", "export without them"
            )
        q, k, v = _heads_of(make, heads)
        if node.has(6) and node.has(7):
            k, v = make.join(2, node.inputs[6], k), make.join(2, node.inputs[7], v)
        steps, keys = make.shape(q)[2], make.shape(k)[2]
        low, biases = node.attribute("mask_filter_value", -10000.0), list[str]()
        if node.has(4):
            biases.append(masked_bias(make, node.inputs[4], keys, low))
        if node.has(5):
            biases.append(node.inputs[5])
        if node.attribute("unidirectional", 0):
            biases.append(causal_bias(make, steps, keys, keys - steps))
        y = merge_heads(make, attend(make, q, k, v, node.attribute("scale", 0.0), biases))
        return make.give(y, k, v)


def _heads_of(make: Compose, heads: int) -> list[str]:
    """Queries, keys and values by heads, out of all the forms in which they may come."""
    node = make.node
    if node.rank() == 5:
        parts = _unpacked(make, node.inputs[0], 3)
    elif node.has(1) and node.rank(1) == 5:
        parts = [node.inputs[0], *_unpacked(make, node.inputs[1], 2)]
    elif node.has(1) and node.has(2):
        parts = list(node.inputs[:3])
    else:
        raise Refusal("neither keys and values nor all three packed into the query are given")
    if node.has(3):
        parts = _biased(make, parts, node.inputs[3])
    return [part if len(make.shape(part)) == 4 else split_heads(make, part, heads) for part in parts]


def _unpacked(make: Compose, packed: str, count: int) -> list[str]:
    """[batch, step, head, count, width] as tensors [batch, step, head * width]."""
    batch, steps, heads, _, width = make.shape(packed)
    parts = [make.part(packed, 3, at, at + 1) for at in range(count)]
    return [make.reshape(part, (batch, steps, heads * width)) for part in parts]


def _biased(make: Compose, parts: list[str], bias: str) -> list[str]:
    start, found = 0, list[str]()
    for part in parts:
        if len(make.shape(part)) != 3:
            raise Refusal("a bias for keys and values that are given by heads is not supported", "add it before")
        stop = start + make.shape(part)[-1]
        found.append(make.add(part, make.part(bias, 0, start, stop)))
        start = stop
    return found
