from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._support_vectors import compared, vectors
from tilewright.ops.greater import Greater
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class SVMRegressor(Op):
    """A weighted sum of what samples and support vectors have in common. Becomes MatMul and functions."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, count = Compose(node, emit), node.attribute("n_supports", 0)
        x = rows_of_floats(node, make)
        weights = np.asarray(node.attribute("coefficients", ()), np.float32)
        # Without support vectors the coefficients are those of the features.
        found = compared(make, x, vectors(make, count, make.shape(x)[1])) if count else x
        node.ignore("kernel_type", "kernel_params", "support_vectors")
        if weights.size != make.shape(found)[1]:
            raise Refusal(f"{weights.size} coefficients for {make.shape(found)[1]} terms")
        total = make.matmul(found, make.constant(weights.reshape(-1, 1), "coefficients"))
        rho = node.attribute("rho", (0.0,))[0]
        total = make.add(total, make.like(rho, total)) if rho else total
        if node.attribute("one_class", 0):
            inside = make(Greater(), total, make.like(0.0, total))
            total = make(Where(), inside, make.like(1.0, total), make.like(-1.0, total))
        return make.give(transformed(make, total, node.attribute("post_transform", "NONE")))
