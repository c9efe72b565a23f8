"""Functions and normalisations as exporters write them out become one operator; near misses stay as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.passes.small import kinds
from tilewright import ops
from tilewright.errors import present
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.passes import apply
from tilewright.passes.fuse_patterns import FUSE_PATTERNS

pytestmark = pytest.mark.fast

SHAPE = (2, 4, 6)
ROOT2, CUBE, BELL = math.sqrt(2), 0.044715, math.sqrt(2 / math.pi)


@dataclass(frozen=True)
class Value:
    """A tensor of a graph in the making, for formulas that look like formulas."""

    __array_ufunc__ = None  # numpy leaves sums and products to us
    builder: Builder
    name: str

    def op(self, kind: str, *others: Any, **attributes: Any) -> Value:
        names = [self.name, *(self._name(other) for other in others)]
        (made,) = self.builder.add(present(ops.find(kind), "test", kind)(**attributes), names)
        return Value(self.builder, made)

    def _name(self, other: Any) -> str:
        return other.name if isinstance(other, Value) else self.builder.constant(np.asarray(other, np.float32))

    def of(self, other: Any) -> Value:
        return Value(self.builder, self._name(other))

    def __add__(self, other: Any) -> Value:
        return self.op("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self.op("Sub", other)

    def __mul__(self, other: Any) -> Value:
        return self.op("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self.op("Div", other)

    def __rmul__(self, other: Any) -> Value:
        return self.of(other) * self

    def __radd__(self, other: Any) -> Value:
        return self.of(other) + self

    def __rtruediv__(self, other: Any) -> Value:
        return self.of(other) / self

    def __rsub__(self, other: Any) -> Value:
        return self.of(other) - self

    def mean(self, *axes: int, keepdims: bool = True) -> Value:
        return self.op("ReduceMean", axes=axes, keepdims=keepdims)

    def sum(self, *axes: int) -> Value:
        return self.op("ReduceSum", axes=axes)

    def max(self, *axes: int) -> Value:
        return self.op("ReduceMax", axes=axes)

    def __getattr__(self, kind: str) -> Callable[..., Value]:
        return lambda *others, **attributes: self.op(kind, *others, **attributes)


Formula = Callable[[Value], Value]


def graph_of(formula: Formula, shape: tuple[int, ...] = SHAPE, also: Formula | None = None) -> Graph:
    """The formula of a computed tensor, as in a network."""
    builder = Builder("small")
    source = Value(builder, builder.input("x", TensorType("float32", shape))).Transpose(perm=tuple(range(len(shape))))
    builder.output(formula(source).name)
    if also is not None:
        builder.output(also(Value(builder, builder.outputs[0])).name)
    return builder.build()


def fused(graph: Graph) -> list[str]:
    """The operators behind the first one, after the pass; results are those of the graph before it."""
    made = apply(graph, (FUSE_PATTERNS,))
    shape = graph.types["x"].shape
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32) * np.float32(3)
    before, after = evaluate(graph, {"x": x}), evaluate(made, {"x": x})
    for old, new in zip(graph.outputs, made.outputs, strict=True):
        np.testing.assert_allclose(after[new], before[old], rtol=2e-5, atol=2e-6)
    return kinds(made)[1:]


def cubed(x: Value) -> Value:
    return x.Pow(3.0)


def softplus(x: Value) -> Value:
    return (x.Exp() + 1.0).Log()


def stable_softplus(x: Value) -> Value:
    return x.Max(0.0) + (x.Abs().Neg().Exp() + 1.0).Log()


def hard_clip(x: Value) -> Value:
    return (x + 3.0).Clip(low=0.0, high=6.0)


FUNCTIONS: dict[str, tuple[str, Formula]] = {
    "gelu of PyTorch": ("Gelu", lambda x: x * ((x / ROOT2).Erf() + 1.0) * 0.5),
    "gelu of the dynamo exporter": ("Gelu", lambda x: (x * 0.5) * ((x * (1 / ROOT2)).Erf() + 1.0)),
    "gelu, half inside": ("Gelu", lambda x: x * (0.5 * (1.0 + (x / 1.41421).Erf()))),
    "gelu of JAX": ("Gelu", lambda x: (0.5 * x) * (1.0 - (x.Neg() * (1 / ROOT2)).Erf())),
    "gelu, multiplied out": ("Gelu", lambda x: x * 0.5 + (x * 0.5) * (x * (1 / ROOT2)).Erf()),
    "tanh gelu of PyTorch": (
        "Gelu",
        lambda x: (x * 0.5) * (((x + cubed(x) * CUBE) * BELL).Tanh() + 1.0),
    ),
    "tanh gelu of Keras": (
        "Gelu",
        lambda x: (0.5 * x) * (1.0 + (0.7978846 * (x + CUBE * cubed(x))).Tanh()),
    ),
    "tanh gelu, x outside": (
        "Gelu",
        lambda x: x * (((x * BELL * (1.0 + CUBE * (x * x))).Tanh() + 1.0) * 0.5),
    ),
    "tanh gelu of JAX": ("Gelu", lambda x: x * (((x + CUBE * (x * x * x)) * BELL).Tanh() + 1.0) * 0.5),
    "tanh gelu by a sigmoid": ("Gelu", lambda x: x * ((x + CUBE * cubed(x)) * (2 * BELL)).Sigmoid()),
    "silu": ("Swish", lambda x: x * x.Sigmoid()),
    "silu the other way": ("Swish", lambda x: x.Sigmoid() * x),
    "silu, written out": ("Swish", lambda x: x / (1.0 + x.Neg().Exp())),
    "quick gelu": ("Swish", lambda x: x * (x * 1.702).Sigmoid()),
    "hard swish by a hard sigmoid": ("HardSwish", lambda x: x * x.HardSigmoid(alpha=1 / 6, beta=0.5)),
    "hard swish by a clip": ("HardSwish", lambda x: x * hard_clip(x) / 6.0),
    "hard swish, divided first": ("HardSwish", lambda x: x * (hard_clip(x) * (1 / 6))),
    "hard swish by min and max": ("HardSwish", lambda x: x * ((x + 3.0).Max(0.0).Min(6.0) / 6.0)),
    "hard sigmoid": ("HardSigmoid", lambda x: hard_clip(x) / 6.0),
    "softplus": ("Softplus", softplus),
    "softplus, stable": ("Softplus", stable_softplus),
    "mish by softplus": ("Mish", lambda x: x * x.Softplus().Tanh()),
    "mish": ("Mish", lambda x: x * softplus(x).Tanh()),
    "mish, stable": ("Mish", lambda x: x * stable_softplus(x).Tanh()),
    "sigmoid": ("Sigmoid", lambda x: 1.0 / (1.0 + x.Neg().Exp())),
    "sigmoid by a reciprocal": ("Sigmoid", lambda x: (1.0 + x.Neg().Exp()).Reciprocal()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    kind, formula = FUNCTIONS[name]
    assert fused(graph_of(formula)) == [kind]


def test_which_gelu() -> None:
    for name, (kind, formula) in FUNCTIONS.items():
        if kind == "Gelu":
            op = apply(graph_of(formula), (FUSE_PATTERNS,)).nodes[-1].op
            assert getattr(op, "approximate") == ("tanh" if name.startswith("tanh") else "none")  # noqa: B009


def layer_norm(x: Value, *axes: int, epsilon: float = 1e-5) -> Value:
    centred = x - x.mean(*axes)
    return centred / ((centred * centred).mean(*axes) + epsilon).Sqrt()


def unit(x: Value, epsilon: float = 1e-5) -> Value:
    return x / ((x * x).mean(2) + epsilon).Sqrt()


def values(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).uniform(0.5, 2.0, shape).astype(np.float32)


def of_keras(x: Value) -> Value:
    """x * factor + (bias - mean * factor)"""
    mean = x.mean(2)
    factor = ((x - mean) * (x - mean)).mean(2).op("Add", 1e-3).Sqrt().Reciprocal() * values(6)
    return x * factor + (x.of(values(6)) - mean * factor)


def of_flax(x: Value) -> Value:
    """The variance as a difference, without axes of size 1 until the end."""
    mean, squares = x.mean(2, keepdims=False), (x * x).mean(2, keepdims=False)
    variance = (squares - mean * mean).Max(0.0)
    factor = (variance.Reshape(shape=(2, 4, 1)) + 1e-6).Sqrt().Reciprocal() * values(6)
    return (x - mean.Reshape(shape=(2, 4, 1))) * factor + values(1, 6)


def log_softmax(x: Value) -> Value:
    shifted = x - x.max(2)
    return shifted - shifted.Exp().sum(2).Log()


def softmax(x: Value, axis: int) -> Value:
    shares = (x - x.max(axis)).Exp()
    return shares / shares.sum(axis)


NORMALISATIONS: dict[str, tuple[str, Formula]] = {
    "layer norm": ("LayerNormalization", lambda x: layer_norm(x, 2)),
    "layer norm with scale and bias": ("LayerNormalization", lambda x: layer_norm(x, 2) * values(6) + values(6)),
    "layer norm with a scale": ("LayerNormalization", lambda x: layer_norm(x, 2) * values(6)),
    "layer norm with numbers": ("LayerNormalization", lambda x: layer_norm(x, 2) * 2.0 + 0.5),
    "layer norm over two axes": ("LayerNormalization", lambda x: layer_norm(x, 1, 2) * values(4, 6) + values(6)),
    "layer norm by a power": (
        "LayerNormalization",
        lambda x: (x - x.mean(2)) * (((x - x.mean(2)).Pow(2.0)).mean(2) + 1e-5).Pow(-0.5),
    ),
    "layer norm of Keras": ("LayerNormalization", of_keras),
    "layer norm of flax": ("LayerNormalization", of_flax),
    "rms norm": ("RMSNormalization", lambda x: unit(x) * values(6)),
    "rms norm, scale first": ("RMSNormalization", lambda x: values(6) * unit(x)),
    "rms norm by a reciprocal": (
        "RMSNormalization",
        lambda x: x * (1.0 / ((x.Pow(2.0)).mean(2) + 1e-6).Sqrt()) * values(6),
    ),
    "length of one": ("RMSNormalization", lambda x: x / ((x * x).sum(2) + 1e-6).Sqrt()),
    "length of one by a norm": ("RMSNormalization", lambda x: x / x.op("ReduceL2", axes=(2,))),
    "softmax": ("Softmax", lambda x: softmax(x, 2)),
    "softmax of another axis": ("Softmax", lambda x: softmax(x, 1)),
    "softmax without a maximum": ("Softmax", lambda x: x.Exp() / x.Exp().sum(2)),
    "log softmax": ("LogSoftmax", log_softmax),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_normalisations(name: str) -> None:
    kind, formula = NORMALISATIONS[name]
    assert fused(graph_of(formula)) == [kind]


IMAGE = (2, 6, 4, 5)


def in_groups(x: Value, normal: Formula) -> Value:
    back = normal(x.Reshape(shape=(2, 3, 40))).Reshape(shape=IMAGE)
    return back * values(6, 1, 1) + values(6, 1, 1)


def by_instance_norm(x: Value) -> Value:
    return x.op("GroupNormalization", np.ones(3), np.zeros(3), groups=3)


def test_group_norm() -> None:
    assert fused(graph_of(lambda x: in_groups(x, by_instance_norm), IMAGE)) == ["GroupNormalization"]
    assert fused(graph_of(lambda x: in_groups(x, lambda y: layer_norm(y, 2)), IMAGE)) == ["GroupNormalization"]
    op = apply(graph_of(lambda x: in_groups(x, by_instance_norm), IMAGE), (FUSE_PATTERNS,)).nodes[-1].op
    assert isinstance(op, GroupNormalization)
    assert op.groups == 3


def test_channels_of_rows() -> None:
    assert fused(graph_of(lambda x: layer_norm(x, 2) * values(4, 1))) == ["GroupNormalization"]


def test_vectors_have_no_channels() -> None:
    graph = graph_of(lambda x: x * [2.0] + [0.5], (5,))
    assert fused(graph) == kinds(graph)[1:]


def test_instance_norm() -> None:
    def formula(x: Value) -> Value:
        return layer_norm(x, 2, 3) * values(1, 6, 1, 1) + values(6, 1, 1)

    assert fused(graph_of(formula, IMAGE)) == ["GroupNormalization"]


NEAR_MISSES: dict[str, Formula] = {
    "another constant in gelu": lambda x: x * ((x / 1.5).Erf() + 1.0) * 0.5,
    "gelu without its half": lambda x: x * ((x / ROOT2).Erf() + 1.0),
    "another cube": lambda x: (x * 0.5) * (((x + cubed(x) * 0.05) * BELL).Tanh() + 1.0),
    "a sigmoid of something else": lambda x: x * x.Neg().Sigmoid().Sigmoid(),
    "hard swish with another bound": lambda x: x * (x + 3.0).Clip(low=0.0, high=5.0) / 6.0,
    "softplus with another one": lambda x: (x.Exp() + 2.0).Log(),
    "the deviation plus epsilon": lambda x: (x - x.mean(2)) / (((x - x.mean(2)).Pow(2.0)).mean(2).Sqrt() + 1e-5),
    "means along different axes": lambda x: (x - x.mean(1)) / (((x - x.mean(1)).Pow(2.0)).mean(2) + 1e-5).Sqrt(),
    "rows along the wrong axis": lambda x: layer_norm(x, 1),
    "a norm's negative epsilon": lambda x: x / ((x * x).mean(2) + -1e-5).Sqrt(),
    "a third root": lambda x: x / ((x * x).mean(2) + 1e-5).Pow(1 / 3),
    "a softmax summed along another axis": lambda x: (x - x.max(2)).Exp() / (x - x.max(2)).Exp().sum(1),
    "a softmax with another maximum": lambda x: (x - x.max(1)).Exp() / (x - x.max(1)).Exp().sum(2),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name: str) -> None:
    with np.errstate(all="ignore"):
        graph = graph_of(NEAR_MISSES[name])
        assert fused(graph) == kinds(graph)[1:]


def test_a_row_that_meets_the_wrong_axis() -> None:
    """Without its axis of size 1, a mean of a square matrix broadcasts along the other axis."""

    def formula(x: Value) -> Value:
        return (x - x.mean(1, keepdims=False)) / (((x - x.mean(1)).Pow(2.0)).mean(1) + 1e-5).Sqrt()

    graph = graph_of(formula, (6, 6))
    assert fused(graph) == kinds(graph)[1:]


@pytest.mark.parametrize("shape", [(4, 6), (2, 1, 1), (2, 4, 6)])
def test_scales_that_differ_from_row_to_row(shape: tuple[int, ...]) -> None:
    """The normalisation is found, and what it cannot take stays behind it."""
    assert fused(graph_of(lambda x: layer_norm(x, 2) * values(*shape))) == ["LayerNormalization", "Mul"]


def test_another_reader() -> None:
    def formula(x: Value) -> Value:
        gate = (x / ROOT2).Erf() + 1.0
        return (x * gate * 0.5) * gate

    graph = graph_of(formula)
    assert fused(graph) == kinds(graph)[1:]


def test_a_value_on_the_way_that_is_an_output() -> None:
    builder = Builder("small")
    x = Value(builder, builder.input("x", TensorType("float32", SHAPE)))
    gate = x.Sigmoid()
    builder.output(gate.name)
    builder.output((x * gate).name)
    graph = builder.build()
    assert kinds(apply(graph, (FUSE_PATTERNS,))) == kinds(graph)


def test_several_in_one_graph() -> None:
    def formula(x: Value) -> Value:
        y = layer_norm(x, 2) * values(6) + values(6)
        return x + y * ((y / ROOT2).Erf() + 1.0) * 0.5

    assert fused(graph_of(formula)) == ["LayerNormalization", "Gelu", "Add"]
