"""Small float networks with random weights, and samples for them."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.cos import Cos
from tilewright.ops.cumsum import CumSum
from tilewright.ops.gelu import Gelu
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose

__all__ = ["Net", "classifier", "images", "readings", "rows", "transformer", "with_cumsum", "with_skip", "with_units"]


class Net:
    """A float network in the making."""

    def __init__(self, *shape: int, seed: int = 0) -> None:
        self.builder, self.random = Builder("net"), np.random.default_rng(seed)
        self.at = self.builder.input("x", TensorType("float32", shape))

    def add(self, op: Op, *others: str, name: str = "", of: str = "") -> str:
        self.at = self.builder.add(op, [of or self.at, *others], name=name)[0]
        return self.at

    def normal(self, *shape: int, size: float = 1.0) -> str:
        return self.constant(size * self.random.standard_normal(shape))

    def constant(self, array: Array) -> str:
        return self.builder.constant(np.asarray(array, np.float32))

    def conv(self, channels: int, taps: int = 3, groups: int = 1, spread: float = 0.0, name: str = "") -> str:
        """A convolution whose filters differ in size by about exp(+-spread)."""
        inputs = self.builder.types[self.at].shape[1] // groups
        weights = self.random.standard_normal((channels, inputs, taps, taps)) / np.sqrt(inputs * taps * taps)
        weights *= np.exp(spread * self.random.standard_normal((channels, 1, 1, 1)))
        padding = (taps // 2,) * 4
        bias = self.normal(channels, size=0.1)
        return self.add(Conv(padding=padding, groups=groups), self.constant(weights), bias, name=name)

    def dense(self, channels: int, name: str = "", divided_by: Array | float = 1.0) -> str:
        """A matrix product and a bias; weights of each input are divided by a factor."""
        inputs = self.builder.types[self.at].shape[-1]
        weights = self.random.standard_normal((inputs, channels)) / np.sqrt(inputs)
        weights /= np.reshape(divided_by, (-1, 1))
        return self.add(MatMul(), self.constant(weights), self.normal(channels, size=0.1), name=name)

    def graph(self) -> Graph:
        self.builder.output(self.at)
        return self.builder.build()


def classifier(spread: float = 0.0, seed: int = 0, softmax: bool = True) -> Graph:
    """Convolutions, depthwise too, over ReLU; a pool; a dense layer."""
    net = Net(1, 3, 8, 8, seed=seed)
    net.conv(8, name="first", spread=spread)
    net.add(Relu())
    net.conv(8, groups=8, name="depthwise", spread=spread)
    net.add(Relu())
    net.conv(16, 1, name="pointwise")
    net.add(Relu())
    net.add(MaxPool(strides=(2, 2), kernel=(2, 2)))
    net.add(GlobalAveragePool())
    net.add(Reshape((1, 16)))
    net.dense(5, name="classes")
    if softmax:
        net.add(Softmax(axis=1))
    return net.graph()


def with_skip() -> Graph:
    """A sum and a concatenation."""
    net = Net(1, 4, 6, 6)
    first = net.conv(4, name="a")
    net.conv(4, name="b")
    total = net.add(Add(), first)
    other = net.conv(4, name="c")
    net.at = net.builder.add(Concat(1), [total, other])[0]
    net.add(Relu())
    net.conv(2, name="d")
    return net.graph()


def transformer(outliers: float = 1.0) -> Graph:
    """A block of attention and a block of two dense layers. Two channels behind each normalisation are that much larger
    than the others, and their weights that much smaller."""
    length, width, heads = 6, 16, 2
    net = Net(1, length, width, seed=3)
    skip = net.at
    scale = np.ones(width)
    scale[[2, 9]] = outliers
    normed = net.add(LayerNormalization(), net.constant(scale), net.constant(scale * 0.1), name="norm1")
    parts = []
    for name in ("q", "k", "v"):
        net.at = normed
        net.dense(width, name=name, divided_by=scale)
        net.add(Reshape((1, length, heads, width // heads)))
        parts.append(net.add(Transpose((0, 2, 1, 3))))
    keys = net.add(Transpose((0, 1, 3, 2)), of=parts[1])
    net.add(MatMul(), keys, of=parts[0], name="scores")
    net.add(Mul(), net.constant(np.array(1 / np.sqrt(width // heads))), name="scaled")
    net.add(Softmax(axis=3), name="attention")
    net.add(MatMul(), parts[2], name="mixed")
    net.add(Transpose((0, 2, 1, 3)))
    net.add(Reshape((1, length, width)))
    net.dense(width, name="out")
    skip = net.add(Add(), skip, name="residual")
    net.add(LayerNormalization(), net.constant(scale), net.constant(scale * 0.1), name="norm2")
    net.dense(2 * width, name="up", divided_by=scale)
    net.add(Gelu(), name="gelu")
    net.dense(width, name="down")
    net.add(Add(), skip, name="sum")
    return net.graph()


def with_cumsum() -> Graph:
    """An operator without an integer form between two that have one."""
    net = Net(1, 8)
    net.dense(8, name="before")
    net.add(CumSum(1), name="running")
    net.add(Cos(), name="cos")
    net.dense(4, name="after")
    return net.graph()


def images(count: int, *shape: int, seed: int = 1) -> Array:
    shape = shape or (3, 8, 8)
    return np.random.default_rng(seed).standard_normal((count, *shape)).astype(np.float32)


def rows(count: int, *shape: int, seed: int = 2) -> Array:
    return np.random.default_rng(seed).standard_normal((count, *shape)).astype(np.float32)


def with_units(hidden: int = 16) -> Graph:
    """Features in units of their own, as sensors give them: pressures of 1e5 that vary by tens, and ratios below 0.01.
    No step of 16 bits is small enough for the ratios and large enough for the pressures."""
    net = Net(1, 8)
    scale = np.repeat([1e5, 1e-3], 4)
    net.dense(hidden, name="first", divided_by=scale)
    net.add(Relu())
    net.dense(hidden, name="second")
    net.add(Relu())
    net.dense(4, name="last")
    return net.graph()


def readings(count: int, seed: int = 5) -> Array:
    """Samples for `with_units`."""
    scale = np.repeat([1e5, 1e-3], 4)
    return (np.random.default_rng(seed).standard_normal((count, 8)) * scale).astype(np.float32)
