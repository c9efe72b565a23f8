"""Pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter, Step
from tilewright.ir.types import Shape
from tilewright.ops._pool import Pool
from tilewright.ops._reduction import lowest
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.maxpool import MaxPool


@rule(MaxPool)
def max_pool(to: NodeWriter, op: MaxPool) -> None:
    """Where a window could lie in the padding altogether, which ONNX forbids, the padding is a node of its own."""
    pads = op.padding
    if all(pad < taps for pad, taps in zip(pads, op.kernel * 2, strict=True)):
        _pool(to, op, [], pads)
        return
    spans = [(0, 0), (0, 0), *zip(pads[: op.rank], pads[op.rank :], strict=True)]
    around = to.integers([a for a, _ in spans] + [b for _, b in spans], "pads")
    dtype = to.type("X").element
    border = Step("Pad", (around, to.constant(np.asarray(lowest(dtype), dtype), "border")))
    _pool(to, op, [border], (0,) * len(pads))


@rule(AveragePool)
def average_pool(to: NodeWriter, op: AveragePool) -> None:
    """What ceil_mode has added to the padding is left to ceil_mode again."""
    ends = [end - added for end, added in zip(op.padding[op.rank :], op.uncounted, strict=True)]
    pads = (*op.padding[: op.rank], *ends)
    _pool(to, op, [], pads, count_include_pad=int(op.count_pads), ceil_mode=int(any(op.uncounted)))


def _pool(to: NodeWriter, op: Pool, before: list[Step], pads: Shape, **more: Any) -> None:
    how = {"kernel_shape": op.kernel, "strides": op.strides, "pads": pads, **more}
    if set(op.dilations) != {1}:
        # Not where they change nothing: ONNX Runtime's average of bytes refuses the attribute.
        how["dilations"] = op.dilations
    rank = op.rank
    first = [Step("Transpose", (), {"perm": (0, rank + 1, *range(1, rank + 1))})] if op.channels_last else []
    last = [Step("Transpose", (), {"perm": (0, *range(2, rank + 2), 1)})] if op.channels_last else []
    steps = [*first, *before, Step(op.kind, (), how), *last]
    to.chain(Step(steps[0].kind, (to.operand("X"), *steps[0].inputs), steps[0].attributes), *steps[1:])
