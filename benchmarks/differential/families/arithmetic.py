"""Element by element: functions, sums of tensors that are broadcast, comparisons, integers; as each opset has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.net import Net, grown
from onnx import helper

SINCE = {
    "Asinh": 9, "Celu": 12, "Cosh": 9, "Erf": 9, "Gelu": 20, "GreaterOrEqual": 12, "HardSwish": 14, "LessOrEqual": 12,
    "Mish": 18, "Round": 11, "Sign": 9, "Sinh": 9, "Where": 9,
}  # fmt: skip
UNARY = (
    "Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "LeakyRelu", "Mish", "Neg", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Tanh",
)  # fmt: skip


def known(net: Net, kinds: Sequence[str]) -> str:
    return net.choice([kind for kind in kinds if net.opset >= SINCE.get(kind, 7)])


def partner(net: Net, x: str) -> str:
    """A tensor that broadcasts with another."""
    value = net.values[x]
    shape = thinned(net, value.shape)[net.number(0, value.ndim) if net.chance(0.4) else 0 :]
    same = [
        name for name in net.pool if net.values[name].dtype == value.dtype and net.values[name].shape == value.shape
    ]
    return net.choice(same) if same and net.chance(0.4) else net.new(shape, value.dtype.name)


def unary(net: Net) -> None:
    kind = known(net, UNARY)
    dtype = (
        net.choice(["int8", "int32", "int64"]) if kind in ("Abs", "Neg", "Identity") and net.chance(0.4) else "float32"
    )
    net.add(kind, [net.pick(dtype)])


def positive(net: Net) -> None:
    """Functions of positive numbers only."""
    (x,) = net.add("Abs", [net.pick()]) or [""]
    (x,) = net.add("Add", [x, net.constant(0.5, "float32")]) if x else [""]
    if x:
        net.add(net.choice(["Log", "Sqrt", "Reciprocal"]), [x])


def binary(net: Net) -> None:
    x = net.pick("float32" if net.chance(0.65) else net.choice(["int32", "int64"]))
    operands = [x, partner(net, x)]
    net.add(net.choice(["Add", "Sub", "Mul"]), operands[:: net.choice([1, -1])])


def several(net: Net) -> None:
    x = net.pick()
    net.add(net.choice(["Max", "Min", "Sum", "Mean"]), [x, *(partner(net, x) for _ in range(net.number(0, 3)))])


def divide(net: Net) -> None:
    x = net.pick(net.choice(["float32", "int32", "int64"]))
    dtype = net.values[x].dtype.name
    divisor = net.give(np.asarray(net.array((), dtype, 1, 3) + 1, dtype))
    kind = net.choice(["Div", "Mod"]) if net.opset >= 10 else "Div"
    net.add(kind, [x, divisor], fmod=1 if kind == "Mod" and dtype == "float32" else None)


def compare(net: Net) -> None:
    x = net.pick("float32" if net.opset < 11 else net.choice(["float32", "int32", "int64"]), exact=True)
    kinds = ["Less", "Greater", "LessOrEqual", "GreaterOrEqual"] + (["Equal"] if net.opset >= 11 else [])
    net.add(known(net, kinds), [x, partner(net, x)])


def logic(net: Net) -> None:
    x = net.pick("bool")
    kind = known(net, ["And", "Or", "Xor", "Not", "Where", "Where"])
    if kind == "Where":
        y = net.new(net.values[x].shape, net.choice(net.dtypes))
        net.add(kind, [x, y, partner(net, y)])
    else:
        net.add(kind, [x] if kind == "Not" else [x, partner(net, x)])


def cast(net: Net) -> None:
    x, to = net.pick(net.choice(net.dtypes), exact=True), net.choice(net.dtypes)
    value = net.values[x]
    bounds = np.iinfo(to) if to not in ("float32", "bool") else None
    # ONNX leaves open what becomes of a float that the integer type does not have.
    if value.dtype.kind == "f" and bounds and value.size and (value.min() < bounds.min or value.max() > bounds.max):
        return
    net.add("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def clip(net: Net) -> None:
    dtype = "float32" if net.opset < 12 else net.choice(["float32", "int8", "uint8", "int32", "int64"])
    x, low, high = net.pick(dtype), net.number(0, 2), net.number(3, 6)
    if net.opset < 11:
        net.add("Clip", [x], min=float(low), max=float(high) if net.chance(0.8) else None)
    else:
        net.add("Clip", [x, net.constant(low, dtype) if net.chance(0.8) else "", net.constant(high, dtype)])


def thinned(net: Net, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts to another of the same rank."""
    return [1 if net.chance(0.3) else size for size in shape]


NODES = {
    unary: 5, positive: 1, binary: 5, several: 2, divide: 2, compare: 2, logic: 3, cast: 3, clip: 2,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 8))
