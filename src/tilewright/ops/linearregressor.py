from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class LinearRegressor(Op):
    """Weighted sums of features. Becomes MatMul and Add."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        sums = weighted_sums(make, rows_of_floats(node, make), node.attribute("targets", 1))
        return make.give(transformed(make, sums, node.attribute("post_transform", "NONE")))


def weighted_sums(make: Compose, x: str, targets: int) -> str:
    """One for each target, by the node's coefficients and intercepts."""
    features = make.shape(x)[1]
    weights = np.asarray(make.node.attribute("coefficients"), np.float32)
    if targets < 1 or weights.size != targets * features:
        raise Refusal(f"{weights.size} coefficients for {targets} targets of {features} features")
    sums = make.matmul(x, make.constant(weights.reshape(targets, features).T, "coefficients"))
    intercepts = np.asarray(make.node.attribute("intercepts", ()), np.float32)
    if not intercepts.any():
        return sums
    if intercepts.size != targets:
        raise Refusal(f"{intercepts.size} intercepts for {targets} targets")
    return make.add(sums, make.constant(intercepts, "intercepts"))
