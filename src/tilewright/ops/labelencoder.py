from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array
from tilewright.ops._classifier import DOMAIN
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops.argmax import ArgMax
from tilewright.ops.cast import Cast
from tilewright.ops.concat import Concat
from tilewright.ops.equal import Equal
from tilewright.ops.gather import Gather
from tilewright.ops.isnan import IsNaN
from tilewright.records import dataclass

KINDS = {"int64s": np.int64, "floats": np.float32, "strings": np.int64}
DEFAULTS: dict[str, Any] = {"int64s": -1, "floats": -0.0, "strings": "_Unused"}


@dataclass(frozen=True)
class LabelEncoder(Op):
    """Each element replaced by what a table has for it, or by a default. Texts are known by their numbers."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (x, *_) = Compose(node, emit), node.inputs
        keys, _ = _list(make, "keys")
        values, default = _list(make, "values")
        if len(keys) != len(values):
            raise Refusal(f"{len(keys)} keys for {len(values)} values")
        x = make.cast(x, keys.dtype.name)
        table = make.constant(np.append(default, values).astype(values.dtype), "values")
        refuse_large("comparisons with keys", make.kind(x).elements, len(keys) + 1)
        # The first key that is equal; before all of them stands the default, which is found where none is.
        column = make.reshape(x, (make.kind(x).elements, 1))
        found = make(Cast("int32"), _is_key(make, column, keys))
        none = make.constant(np.zeros((make.kind(x).elements, 1), np.int32), "none")
        place = make(ArgMax(1, keepdims=False), make(Concat(1), none, found))
        return make.give(make.reshape(make(Gather(0), table, place), make.shape(x)))


def _is_key(make: Compose, column: str, keys: Array) -> str:
    """NaN is equal to a key that is NaN."""
    equal = make(Equal(), column, make.constant(np.nan_to_num(keys, nan=math.inf) if keys.dtype.kind == "f" else keys))
    if keys.dtype.kind != "f" or not np.isnan(keys).any():
        return equal
    at = int(np.flatnonzero(np.isnan(keys))[0])
    parts = [make.part(equal, 1, 0, at), make(IsNaN(), column), make.part(equal, 1, at + 1, len(keys))]
    return make.join(1, *parts)


def _list(make: Compose, name: str) -> tuple[Array, Array]:
    """The keys or values, and the default of that type."""
    node = make.node
    tensor = node.attribute(f"{name}_tensor", None)
    if tensor is not None:
        default = node.attribute("default_tensor", None)
        return tensor.reshape(-1), np.asarray(0 if default is None else default.reshape(-1)[0], tensor.dtype)
    for kind, element in KINDS.items():
        given = node.attribute(f"{name}_{kind}", ())
        default = node.attribute(f"default_{kind[:-1]}", DEFAULTS[kind])
        if given:
            if kind == "strings":
                default = make.emit.word(default) if name == "values" else 0
                given = tuple(make.emit.word(text) for text in given)
            return np.asarray(given, element), np.asarray(default, element)
    raise Refusal(f"no {name} are given")
