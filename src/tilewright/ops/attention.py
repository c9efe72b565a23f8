from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._attention import attend, causal_bias, masked_bias, merge_heads, split_heads
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class Attention(Op):
    """Projections of one input to queries, keys and values, and attention over them: ONNX Runtime's form.

    ONNX defines its own, from opset 23 on.
    """

    domains: ClassVar[tuple[str, ...]] = ("com.microsoft",)
    operands: ClassVar[tuple[str, ...]] = ("X", "weights", "bias?", "mask?", "past?", "attention_bias?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        whole = make.matmul(node.inputs[0], node.inputs[1])
        if node.has(2):
            whole = make.add(whole, node.inputs[2])
        mask, past, bias = (*node.inputs[3:6], "", "", "")[:3]
        return self_attention(make, whole, mask, past, bias)


def self_attention(make: Compose, whole: str, mask: str, past: str, bias: str) -> Sequence[str]:
    """Attention over queries, keys and values that lie side by side: [batch, step, -]."""
    node = make.node
    if node.attribute("do_rotary", 0) or node.attribute("past_present_share_buffer", 0):
        raise Refusal("do_rotary and past_present_share_buffer are not supported", "export without them")
    node.ignore("rotary_embedding_dim")
    q, k, v = (split_heads(make, part, node.attribute("num_heads")) for part in _parted(make, whole))
    if past:
        k, v = (_after_past(make, past, part, new) for part, new in enumerate((k, v)))
    steps, keys = make.shape(q)[2], make.shape(k)[2]
    low, biases = node.attribute("mask_filter_value", -10000.0), list[str]()
    if mask:
        biases.append(masked_bias(make, mask, keys, low))
    if node.attribute("unidirectional", 0):
        biases.append(causal_bias(make, steps, keys, keys - steps))
    biases += [bias] if bias else []
    y = attend(make, q, k, v, node.attribute("scale", 0.0), biases)
    return make.give(merge_heads(make, y), _present(make, k, v) if node.must_give(1) else "")


def _parted(make: Compose, whole: str) -> list[str]:
    """Queries, keys and values: [batch, step, -] each."""
    width = make.shape(whole)[-1]
    sizes = make.node.attribute("qkv_hidden_sizes", ()) or (width // 3,) * 3
    if len(sizes) != 3 or sum(sizes) != width:
        raise Refusal(f"qkv_hidden_sizes {sizes} of {width} columns")
    ends = list(accumulate(sizes))
    return [make.part(whole, -1, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _after_past(make: Compose, past: str, part: int, new: str) -> str:
    """past[2, batch, head, step, width]: keys and values of earlier steps."""
    return make.join(2, make.reshape(make.part(past, 0, part, part + 1), make.shape(past)[1:]), new)


def _present(make: Compose, k: str, v: str) -> str:
    return make.join(0, *(make.reshape(each, (1, *make.shape(each))) for each in (k, v)))
