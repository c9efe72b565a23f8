"""Quantised networks drawn by chance, of what an NPU computes and a bit more."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape

KINDS = (
    "conv",
    "depthwise",
    "add",
    "mul",
    "pool",
    "average",
    "scaled",
    "concat",
    "pad",
    "square",
    "patches",
    "subtract",
)


class Drawing:
    """Tensors are images, or rows, with channels second; each has a zero point."""

    def __init__(self, seed: int, axes: int) -> None:
        self.axes = axes
        self.random = np.random.default_rng(seed)
        self.builder = Builder(f"drawn_{seed}")
        self.zeros: dict[str, int] = {}
        self.made: list[str] = []

    def network(self, layers: int) -> Graph:
        size = tuple(int(one) for one in self.random.integers(5, 13, self.axes))
        first = self.builder.input("x", TensorType("int8", (1, int(self.random.integers(1, 9)), *size)))
        self.made.append(self.conv(first, self.zero()))
        for _ in range(layers):
            self.made.append(getattr(self, str(self.random.choice(KINDS)))())
        last = self.mean()
        shape = self.shape(last)
        flat = self.emit(Reshape((1, shape[1])), [last], self.zeros[last])
        self.builder.output(self.dense(flat, shape[1]))
        return self.builder.build()

    def zero(self) -> int:
        return int(self.random.choice([-128, 0, *self.random.integers(-128, 128, 2)]))

    def shape(self, tensor: str) -> tuple[int, ...]:
        return self.builder.type_of(tensor).shape

    def plain(self) -> tuple[tuple[int, ...], ...]:
        """Dilations and padding of windows that have none."""
        return (1,) * self.axes, (0,) * (2 * self.axes)

    def any(self) -> str:
        return str(self.random.choice(self.made))

    def emit(self, op: object, inputs: list[str], zero: int) -> str:
        (made,) = self.builder.add(op, inputs)  # type: ignore[arg-type]
        self.zeros[made] = zero
        return made

    def requant(self, shift: int) -> Requant:
        zero = self.zero()
        low = zero if self.random.random() < 0.4 else -128
        return Requant(shift, "int8", low, 127, zero, Rounding.HALF_EVEN)

    def factors(self, filters: int, products: int) -> tuple[list[str], int]:
        """Bias and factors with which results use their range."""
        shift = 36
        wanted = self.random.uniform(0.2, 3.0, filters) / (20 * np.sqrt(products))
        bias = self.random.integers(-(2**11), 2**11, filters).astype(np.int32)
        mul = np.minimum(wanted * 2.0**shift, 2**31 - 1).astype(np.int32)
        return [self.builder.constant(bias, "bias"), self.builder.constant(mul, "mul")], shift

    def weights(self, *shape: int) -> str:
        return self.builder.constant(self.random.integers(-127, 128, shape).astype(np.int8), "weights")

    # ---- layers ----

    def conv(self, given: str = "", zero: int | None = None) -> str:
        return self._convolution(given or self.any(), zero, 1, int(self.random.integers(1, 20)))

    def depthwise(self) -> str:
        given = self.any()
        channels = self.shape(given)[1]
        return self._convolution(given, None, channels, channels * int(self.random.choice([1, 1, 2])))

    def _convolution(self, given: str, zero: int | None, groups: int, filters: int) -> str:
        _, channels, *size = self.shape(given)
        taps = [int(self.random.integers(1, min(one, 4) + 1)) for one in size]
        padding = tuple(int(self.random.integers(0, one)) for one in (*taps, *taps))
        strides = tuple(int(one) for one in self.random.integers(1, 4, self.axes))
        constants, shift = self.factors(filters, channels // groups * math.prod(taps))
        zero = self.zeros[given] if zero is None else zero
        op = Conv(strides, (1,) * self.axes, padding, groups=groups, x_zero=zero, requant=self.requant(shift))
        made = [given, self.weights(filters, channels // groups, *taps), *constants]
        return self.emit(op, made, op.requant.zero_point if op.requant else 0)

    def patches(self) -> str:
        """Windows side by side, further apart than an NPU's own strides."""
        given = self.any()
        _, channels, *size = self.shape(given)
        sides = [taps for taps in (4, 5, 6) if not any(one % taps for one in size)]
        if not sides:
            return self.conv()
        constants, shift = self.factors(7, channels * sides[0] ** self.axes)
        taps = (sides[0],) * self.axes
        op = Conv(taps, *self.plain(), x_zero=self.zeros[given], requant=self.requant(shift))
        made = [given, self.weights(7, channels, *taps), *constants]
        return self.emit(op, made, op.requant.zero_point if op.requant else 0)

    def dense(self, given: str, channels: int) -> str:
        """Of 8 or 16 bits."""
        filters = int(self.random.integers(1, 30))
        constants, shift = self.factors(filters, channels)
        wide = Requant(shift - 2, "int16", -(2**15), 2**15 - 1, int(self.random.integers(-9999, 9999)))
        requant = wide if self.random.random() < 0.5 else self.requant(shift)
        op = MatMul(trans_b=True, a_zero=self.zeros[given], requant=requant)
        return self.emit(op, [given, self.weights(filters, channels), *constants], 0)

    # ---- elements ----

    def _pair(self) -> tuple[str, str] | None:
        first = self.any()
        others = [one for one in self.made if self.shape(one) == self.shape(first) and one != first]
        return (first, str(self.random.choice(others))) if others else None

    def add(self) -> str:
        pair = self._pair()
        return self.conv() if pair is None else self.sum_of(pair)

    def subtract(self) -> str:
        pair = self._pair()
        return self.conv() if pair is None else self.sum_of(pair, -1)

    def sum_of(self, pair: tuple[str, str], sign: int = 1) -> str:
        requant = self.requant(20)
        mul = [int(one * 2**20) for one in self.random.uniform(0.1, 1.5, 2)]
        mul[1] *= sign
        offset = -sum(factor * self.zeros[one] for factor, one in zip(mul, pair, strict=True))
        return self.emit(QLinearAdd(mul[0], mul[1], offset, requant), list(pair), requant.zero_point)

    def mul(self) -> str:
        pair = self._pair()
        if pair is None:
            return self.conv()
        requant = self.requant(30)
        mul = int(self.random.uniform(0.002, 0.02) * 2**30)
        op = QLinearMul(self.zeros[pair[0]], self.zeros[pair[1]], mul, requant)
        return self.emit(op, list(pair), requant.zero_point)

    def scaled(self) -> str:
        given = self.any()
        channels = self.shape(given)[1]
        requant = Requant(20, "int8", -128, 127, self.zero(), Rounding.HALF_UP)
        mul = (self.random.uniform(0.3, 2.0, channels) * self.random.choice([-1, 1], channels) * 2**20).astype(np.int32)
        add = self.random.integers(-(2**25), 2**25, channels).astype(np.int32)
        names = [self.builder.constant(mul, "mul"), self.builder.constant(add, "add")]
        return self.emit(RequantShift(requant, 1), [given, *names], requant.zero_point)

    # ---- pools ----

    def pool(self) -> str:
        given = self.any()
        kernel = tuple(min(int(self.random.integers(1, 4)), one) for one in self.shape(given)[2:])
        strides = tuple(int(one) for one in self.random.integers(1, 3, self.axes))
        return self.emit(MaxPool(strides, *self.plain(), kernel=kernel), [given], self.zeros[given])

    def average(self) -> str:
        given = self.any()
        kernel = tuple(min(int(self.random.integers(1, 4)), one) for one in self.shape(given)[2:])
        op = QLinearAveragePool((1,) * self.axes, *self.plain(), kernel=kernel, **self._mean_of(given))
        return self.emit(op, [given], op.requant.zero_point)

    def mean(self) -> str:
        given = self.made[-1]
        op = QLinearReduceMean(tuple(range(2, 2 + self.axes)), **self._mean_of(given))
        return self.emit(op, [given], op.requant.zero_point)

    def _mean_of(self, given: str) -> dict[str, object]:
        mul = int(self.random.uniform(0.3, 1.5) * 2**26)
        return {"x_zero": self.zeros[given], "mul": mul, "requant": self.requant(26)}

    # ---- moves ----

    def concat(self) -> str:
        pair = self._pair()
        same = pair is not None and self.zeros[pair[0]] == self.zeros[pair[1]]
        return self.emit(Concat(1), list(pair), self.zeros[pair[0]]) if pair and same else self.conv()

    def pad(self) -> str:
        given = self.any()
        before = (int(one) for one in self.random.integers(0, 3, self.axes))
        pads = (0, 0, *before, 0, 0, 1, *(0,) * (self.axes - 1))
        return self.emit(Pad(pads, self.zeros[given]), [given], self.zeros[given])

    def square(self) -> str:
        """A tensor added to itself, which no file says with the scales of two."""
        given = self.any()
        return self.sum_of((given, given))


def drawn(seed: int, layers: int = 6, axes: int = 2) -> Graph:
    return Drawing(seed, axes).network(layers)


def inputs_of(graph: Graph, random: Generator) -> dict[str, np.ndarray]:
    return {name: random.integers(-128, 128, graph.types[name].shape).astype(np.int8) for name in graph.inputs}
