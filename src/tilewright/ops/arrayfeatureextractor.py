from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN
from tilewright.ops._compose import Compose
from tilewright.ops.gather import Gather, with_narrow_indices
from tilewright.records import dataclass


@dataclass(frozen=True)
class ArrayFeatureExtractor(Op):
    """Some columns, one after the other. Becomes a Gather along the last axis."""

    operands: ClassVar[tuple[str, ...]] = ("X", "Y")
    results: ClassVar[tuple[str, ...]] = ("Z",)
    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, shape = Compose(node, emit), node.type(0).shape
        x, places = with_narrow_indices(node, emit).inputs
        matrix = make.reshape(x, shape if len(shape) > 1 else (1, *shape))
        flat = make.reshape(places, (make.kind(places).elements,))
        return emit(Gather(max(len(shape), 2) - 1), [matrix, flat], node.outputs)
