"""Activations that kernels of floats apply to their results before they store them.

A kernel has all of those that cost a few instructions. Curves, which have an exponential in them, are larger: a kernel
that applies one is compiled with that one and no other.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops.clip import Clip
from tilewright.ops.gelu import Gelu
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh

CLAMP, LEAKY, HARD_SIGMOID, HARD_SWISH, CURVE = range(1, 6)
"""The same numbers as in activation.h."""


CURVES: tuple[type[Op], ...] = (Sigmoid, Swish, Tanh, Gelu)
CURVE_NAMES = ("sigmoid", "swish", "tanh", "gelu", "gelu_tanh")
"""As curves.h has them."""
ACTIVATIONS: tuple[type[Op], ...] = (Relu, Clip, LeakyRelu, HardSigmoid, HardSwish, *CURVES)


def is_activation(op: Op) -> bool:
    return type(op) in ACTIVATIONS


def check_activation(op: Op | None, total: str, types: Mapping[str, TensorType]) -> None:
    if op is None:
        return
    if not is_activation(op):
        raise Refusal(f"{op.kind} cannot be fused as an activation")
    if types[total].dtype != "float32":
        raise Refusal(f"{op.kind} applied to {types[total].dtype}", "only float32 is supported")


def activated(op: Op | None, values: Array) -> Array:
    return values if op is None else op.numpy(values)


def curve_of(op: Op) -> str:
    """The function of curves.h that results of an operator go through; empty where it is none of those."""
    activation: Op | None = getattr(op, "activation", None)
    if activation is None or type(activation) not in CURVES:
        return ""
    is_tanh = isinstance(activation, Gelu) and activation.approximate == "tanh"
    return f"{activation.kind.lower()}{'_tanh' if is_tanh else ''}"
