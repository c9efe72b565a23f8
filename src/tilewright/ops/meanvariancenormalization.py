from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

EPSILON = 1e-18
"""ONNX adds 1e-9 to the deviation; added to the variance, its square does the same where it matters."""


@dataclass(frozen=True)
class MeanVarianceNormalization(Op):
    """(x - mean) / deviation over some axes: a LayerNormalization with these axes moved to the end."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = node.type(0).shape
        axes = {node.axis(axis, len(shape)) for axis in node.attribute("axes", (0, 2, 3))}
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        perm = (*kept, *sorted(axes))
        (x,) = emit(Transpose(perm).simplest(shape), node.inputs)
        (x,) = emit(LayerNormalization(len(kept), EPSILON), [x], [emit.fresh(f"{node.name}_normal")])
        back = Transpose(tuple(int(axis) for axis in np.argsort(perm)))
        return emit(back.simplest(tuple(shape[axis] for axis in perm)), [x], node.outputs)
