"""Attention of layers that see no more than the last tokens."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, rebuild
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention


def with_windows(graph: Graph, windows: Sequence[int | None], context: int) -> Graph:
    """With the most tokens that each attention sees, one after another; None: all.

    The graph may be of fewer tokens than a window: it shows nothing of it then.
    """
    if not any(window is not None and window < context for window in windows):
        return graph
    builder, waiting = rebuild(graph), list(windows)
    for node in graph.nodes:
        op = node.op
        window = waiting.pop(0) if isinstance(op, AttentionRows) and waiting else None
        if window is not None and window < context:
            op = _limited(op, window, context)
        builder.add(op, node.inputs, node.outputs, node.name)
    builder.copy_outputs(graph)
    return builder.build()


def _limited(op: object, window: int, context: int) -> LimitedAttention:
    if not isinstance(op, FusedAttention):
        raise CompileError(
            f"context {context}",
            f"this model has a sliding window of {window} tokens, which is not supported in integers",
            f"choose a context of at most {window}, where it makes no difference",
        )  # fmt: skip
    cap = op.cap if isinstance(op, LimitedAttention) else 0.0
    return LimitedAttention(op.causal, op.first, op.scale, window, cap)
