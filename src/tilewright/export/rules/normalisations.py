"""Normalisations: ONNX's have operands that ours may leave out."""

from __future__ import annotations

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.rmsnormalization import RMSNormalization


@rule(BatchNormalization)
def batch(to: NodeWriter, op: BatchNormalization) -> None:
    if op.axis != 1:
        raise Refusal(f"channels are axis {op.axis}", "ONNX has them as axis 1")
    if to.operand("mean"):
        to.end("BatchNormalization", to.inputs, epsilon=op.epsilon)
        return
    if len(to.shape("X")) < 2:
        to.end("Add", [to.add("Mul", [to.operand("X"), to.operand("scale")]), to.operand("B")])
        return
    # With a mean of 0 and a variance of 1, the factors and the summands are as they are, to the bit.
    channels = to.shape("scale")
    mean, var = to.constant(np.zeros(channels, np.float32), "mean"), to.constant(np.ones(channels, np.float32), "var")
    to.end("BatchNormalization", [*to.inputs, mean, var], epsilon=0.0)


@rule(GroupNormalization)
def group(to: NodeWriter, op: GroupNormalization) -> None:
    shape = to.shape("X")
    if op.groups == shape[1] and len(shape) > 2:
        to.end("InstanceNormalization", to.inputs, epsilon=op.epsilon)
        return
    to.end("GroupNormalization", to.inputs, epsilon=op.epsilon, num_groups=op.groups)


@rule(LayerNormalization, RMSNormalization)
def rows(to: NodeWriter, op: RowNormalisation) -> None:
    scale = to.operand("Scale") or to.operand("scale")
    if not scale:
        scale = to.constant(np.ones(to.shape("X")[op.axis :], np.float32), "scale")
    rest = [to.operand("B")] if to.operand("B") else []
    to.end(op.kind, [to.operand("X"), scale, *rest], axis=op.axis, epsilon=op.epsilon)
