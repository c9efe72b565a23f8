"""Scores of an attention of which a constant mask hides some: it adds a very negative number, or it chooses one."""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.qlinearsoftmax import EXP_BITS
from tilewright.ops.where import Where
from tilewright.passes.quantise.values import Context, NoIntegerForm, Value
from tilewright.records import dataclass

HIDING = 500.0
"""What hides any score that an attention is likely to have."""


@dataclass(frozen=True)
class Masked:
    scores: Value
    mask: Array
    """Whether a score is shown; broadcasts with the scores, with all of their last axis."""


def masked_scores(context: Context, tensor: str) -> Masked | None:
    """None where a tensor is something else, or a mask does more than to show and to hide."""
    found = _summand(context, tensor)
    if found is None:
        return None
    try:
        scores = context.value(found[0])
    except NoIntegerForm:
        return None
    if not scores.is_per_tensor:
        return None
    # From there on even the largest score is less than one in the table of exponentials of the smallest.
    low, high = limits(scores.kind.dtype)
    hiding = scores.scale * (high - low) + EXP_BITS * math.log(2.0)
    mask = _shown(found[1], hiding, context.shape(tensor)[-1])
    return None if mask is None else Masked(scores, mask)


def is_masked(context: Context, tensor: str) -> bool:
    """Whether a float tensor is another one of which a mask hides elements, and does nothing else."""
    found = _summand(context, tensor)
    return found is not None and _shown(found[1], HIDING, context.shape(tensor)[-1]) is not None


def _summand(context: Context, tensor: str) -> tuple[str, Array] | None:
    """Scores, and what is added to them or chosen instead."""
    node = context.producer(tensor)
    if node is None or not isinstance(node.op, Add | Where) or context.known(tensor) is not None:
        return None
    found = _added(context, node) if isinstance(node.op, Add) else _chosen(context, node)
    return None if found is None or context.shape(found[0]) != context.shape(tensor) else found


def _added(context: Context, node: Node) -> tuple[str, Array] | None:
    """The scores, and what is added to them."""
    for scores, other in (node.inputs, node.inputs[::-1]):
        summand = context.known(other)
        if summand is not None:
            return scores, summand.astype(np.float64)
    return None


def _chosen(context: Context, node: Node) -> tuple[str, Array] | None:
    """The same where a condition takes a constant instead of the scores."""
    condition, *choices = node.inputs
    shown = context.known(condition)
    for at, (scores, other) in enumerate((choices, choices[::-1])):
        constant = context.known(other)
        if shown is not None and constant is not None:
            hidden = shown if at else ~shown
            return scores, np.where(hidden, constant.astype(np.float64), 0.0)
    return None


def _shown(summand: Array, hiding: float, columns: int) -> Array | None:
    """Where nothing is added; None where less than what hides is, or a row shows nothing."""
    hidden = summand <= -hiding
    shown = np.broadcast_to(~hidden, np.broadcast_shapes(hidden.shape, (columns,)))
    return None if np.any(summand[~hidden]) or not np.all(np.any(shown, axis=-1)) else shown
