"""Batch normalisation that learns: by mean and variance of the batch, which running ones follow."""

from __future__ import annotations

import math
from collections.abc import Collection

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.records import dataclass
from tilewright.training.growing import Growing

KEPT = 0.9
"""The share of a running value that a step keeps."""


def statistics_of(graph: Graph) -> tuple[str, ...]:
    """The running means and variances of all batch normalisations."""
    found = [node.operands() for node in graph.nodes if isinstance(node.op, BatchNormalization)]
    names = [operands[name] for operands in found for name in ("mean", "var") if name in operands]
    return tuple(dict.fromkeys(name for name in names if name in graph.constants))


@dataclass(frozen=True)
class BatchStatistics:
    """Rewrites the normalisations whose running values are among these."""

    running: Collection[str]

    def __call__(self, builder: Builder, node: Node) -> bool:
        operands = node.operands()
        if not isinstance(node.op, BatchNormalization) or operands.get("mean") not in self.running:
            return False
        grow = Growing(builder, node.name)
        x, channels = grow.value(operands["X"]), node.op.channels(builder.types[operands["X"]].shape)
        axes = [axis for axis in range(x.rank) if axis != node.op.axis or x.rank == 1]
        count = math.prod(x.shape[axis] for axis in axes)
        if count < 2:
            what = "it would learn its statistics from one element for each channel"
            raise CompileError(node.where, what, 'give a larger batch, or statistics="frozen"')
        mean = x.mean(axes)
        variance = (x - mean).squared().mean(axes).reshape((channels,))
        mean = mean.reshape((channels,))
        now = [operands["X"], operands["scale"], operands["B"], mean.name, variance.name]
        builder.add(node.op, now, node.outputs, node.name)
        for name, value in (("mean", mean), ("var", variance * (count / (count - 1)))):
            followed = grow.value(operands[name]) * KEPT + value * (1 - KEPT)
            builder.set_next_state(operands[name], followed.name)
        return True
