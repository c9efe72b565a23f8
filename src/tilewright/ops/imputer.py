from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN
from tilewright.ops._compose import Compose
from tilewright.ops.equal import Equal
from tilewright.ops.isnan import IsNaN
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class Imputer(Op):
    """Another value where one is missing: for NaN, or for one that stands for it. Becomes Where."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (x, *_), kind = Compose(node, emit), node.inputs, node.type(0)
        suffix, missing = ("float", 0.0) if kind.dtype == "float32" else ("int64", 0)
        others = {f"{name}_{other}" for name in ("imputed_value", "replaced_value") for other in ("float", "int64")}
        node.ignore(*others, "imputed_value_floats", "imputed_value_int64s")
        given = np.asarray(node.attribute(f"imputed_value_{suffix}s", ()), kind.element)
        replaced = node.attribute(f"replaced_value_{suffix}", missing)
        if given.size not in (1, kind.shape[-1]):
            raise Refusal(f"{given.size} values are given for {kind.shape[-1]} features")
        is_missing = make(IsNaN(), x) if math.isnan(replaced) else make(Equal(), x, make.like(replaced, x))
        return emit(Where(), [is_missing, make.constant(given, "values"), x], node.outputs)
