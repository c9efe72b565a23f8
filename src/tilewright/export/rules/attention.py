"""Attention that one operator computes, written out."""

from __future__ import annotations

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter
from tilewright.ops.fusedattention import FusedAttention

HEADS_FIRST, COLUMNS = (0, 2, 1, 3), (0, 2, 3, 1)
HIDDEN = np.float32(-np.inf)


@rule(FusedAttention)
def fused_attention(to: NodeWriter, op: FusedAttention) -> None:
    """Scores, softmax and values, with heads first; what is shared by heads is there for each of them."""
    if to.operand("position"):
        raise Refusal(
            "attention with a cache of variable length cannot be exported", "export the network of all tokens"
        )
    (_, queries, heads, _), (_, keys, groups, _) = to.shape("Q"), to.shape("K")
    query = to.add("Transpose", [to.operand("Q")], perm=HEADS_FIRST)
    columns = to.add("Transpose", [_for_all_heads(to, "K", heads // groups)], perm=COLUMNS)
    values = to.add("Transpose", [_for_all_heads(to, "V", heads // groups)], perm=HEADS_FIRST)
    scale = to.constant(np.asarray(op.scale, np.float32), "scale")
    scores = to.add("Mul", [to.add("MatMul", [query, columns]), scale])
    if op.causal:
        mask = np.where(op.shown(queries, keys, None), np.float32(0), HIDDEN)
        scores = to.add("Add", [scores, to.constant(mask, "mask")])
    mixed = to.add("MatMul", [to.add("Softmax", [scores], axis=-1), values])
    to.end("Transpose", [mixed], perm=HEADS_FIRST)


def _for_all_heads(to: NodeWriter, operand: str, repeat: int) -> str:
    """Each head of keys or values as often as heads of queries share it."""
    if repeat == 1:
        return to.operand(operand)
    batch, tokens, groups, length = to.shape(operand)
    apart = to.add("Unsqueeze", [to.operand(operand), to.integers([3], "axis")])
    repeated = to.add("Expand", [apart, to.integers([batch, tokens, groups, repeat, length], f"{operand}_repeated")])
    return to.add("Reshape", [repeated, to.integers([batch, tokens, groups * repeat, length], f"{operand}_shape")])
