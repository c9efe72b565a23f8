"""Softmax of quantised tensors by tables of exponentials, maybe of what a mask shows."""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.qlinearmaskedsoftmax import FINE_BITS, QLinearMaskedSoftmax
from tilewright.ops.qlinearsoftmax import EXP_BITS, NUMERATOR_BITS, QLinearSoftmax
from tilewright.ops.softmax import Softmax
from tilewright.passes.quantise.masks import Masked, masked_scores
from tilewright.passes.quantise.pending import Target
from tilewright.passes.quantise.values import Context, Format, NoIntegerForm, Value


def by_softmax(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    node = context.producer(tensor)
    if node is None or not isinstance(node.op, Softmax):
        return None
    if not to.is_per_tensor:
        raise NoIntegerForm("the result is quantised per channel")
    axis, last = node.op.axis % len(context.shape(tensor)), len(context.shape(tensor)) - 1
    masked = _masked(context, node) if axis == last else None
    if masked is not None:
        return _of_shown(context, masked, to, output)
    scores = context.value(node.inputs[0])
    if scores.kind.dtype not in ("int8", "uint8"):
        raise NoIntegerForm(f"softmax of {scores.kind.dtype}; a table needs 8 bits")
    table = context.builder.constant(_exponentials(scores.scale, ENTRIES), f"{context.builder.node_name}_exp")
    return context.emit(QLinearSoftmax(axis, *_share(to)), [scores.tensor, table], output)


def _masked(context: Context, node: Node) -> Masked | None:
    """Scores with a mask; those of 16 bits are shown all if there is none."""
    found = masked_scores(context, node.inputs[0])
    if found is not None:
        return found
    scores = context.value(node.inputs[0])
    return Masked(scores, np.ones(scores.kind.shape[-1:], bool)) if scores.kind.dtype == "int16" else None


def _of_shown(context: Context, masked: Masked, to: Format, output: str | None) -> str:
    scores, name = masked.scores, context.builder.node_name
    table, bits = _tables(scores)
    constants = [
        context.builder.constant(masked.mask.astype(np.uint8), f"{name}_mask"),
        context.builder.constant(table, f"{name}_exp"),
    ]
    return context.emit(QLinearMaskedSoftmax(*_share(to), bits), [scores.tensor, *constants], output)


def _tables(scores: Value) -> tuple[Array, int]:
    """Exponentials of all distances; of 16 bits as products of a coarse and a fine one, about as long as each other."""
    if scores.kind.dtype in ("int8", "uint8"):
        return _exponentials(scores.scale, ENTRIES), 0
    if scores.kind.dtype != "int16":
        raise NoIntegerForm(f"softmax of {scores.kind.dtype}; tables are for 8 and 16 bits")
    low, high = limits(scores.kind.dtype)
    distances = min(high - low + 1, math.ceil(EXP_BITS * math.log(2.0) / scores.scale) + 1)
    bits = max(1, math.ceil(math.log2(distances) / 2))
    coarse = _exponentials(scores.scale * 2**bits, -(-distances >> bits))
    fine = np.rint(np.exp(-scores.scale * np.arange(1 << bits)) * 2.0**FINE_BITS)
    return np.concatenate([coarse, fine.astype(np.int32)]), bits


def _exponentials(step: float, count: int) -> Array:
    return np.rint(np.exp(-step * np.arange(count)) * 2.0**EXP_BITS).astype(np.int32)


def _share(to: Format) -> tuple[int, Requant]:
    """What is divided by a row's sum, and how an element times that becomes a result."""
    shift = int(np.clip(NUMERATOR_BITS - 1 - math.ceil(math.log2(1 / to.scale)), 0, NUMERATOR_BITS - 1))
    low, high = limits(to.dtype)
    return round(2.0**shift / to.scale), Target(to.dtype, to.zero, low, high).requant(shift)
