"""Operators on every element type that ONNX gives them, with numbers up to the ends of the type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families import moves
from benchmarks.differential.families.arithmetic import partner, thinned
from benchmarks.differential.families.moves import axis_of
from benchmarks.differential.net import Net, grown
from onnx import ModelProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator

from tilewright.ir.types import Array

SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint32", "uint64", "uint8", "uint16")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = ("float32", *INTEGERS)
COMPUTED = (*NUMBERS, "bool")
WIDE = ("int32", "int64", "uint32", "uint64")
EDGES = (0, 1, 2, 7, 8, 15, 31, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1)
MAX_EXPONENT = 9


class TypedNet(Net):
    dtypes = (*COMPUTED, "float16", "float64")

    def array(self, shape: Sequence[int], dtype: str = "float32", low: int = -2, high: int = 2) -> Array:
        if dtype in ("float16", "float64"):
            return super().array(shape, "float32", low, high).astype(dtype)
        if dtype not in INTEGERS or self.chance(0.3):
            return super().array(shape, dtype, low, high)
        info, random = np.iinfo(dtype), self.choices.numpy()
        if self.chance(0.5):
            return np.asarray(random.integers(info.min, info.max, shape, dtype, endpoint=True))
        return np.asarray(random.choice(np.array(_edges(dtype), dtype), shape))

    def __init__(self, choices: Choices, room: int, opset: int) -> None:
        super().__init__(choices, room, opset)
        self.open: set[str] = set()
        """Tensors of which other runtimes say different things: squares that overflow, large powers."""
        self._is_open = False

    def _computed(self, node: NodeProto) -> list[Array] | None:
        """By ONNX's own definition where the other runtime does not have the type."""
        model, feeds = self.alone(node)
        defined, found = _defined(model, feeds), super()._computed(node)
        self._is_open = bool(defined and found and not all(map(_equal, defined, found)))
        return found or defined

    def add(
        self, kind: str, inputs: Sequence[str], results: int = 1, domain: str = "", steps: float = 0.0,
        **attributes: Any,
    ) -> list[str]:  # fmt: skip
        names = super().add(kind, inputs, results, domain, steps, **attributes)
        if self._is_open or self.open.intersection(inputs):
            self.open.update(names)
        return names

    def case(self) -> Case:
        case = super().case()
        return replace(case, expected={name: case.expected[name] for name in case.expected if name not in self.open})


def _equal(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and (left.dtype.kind == "f" or np.array_equal(left, right))


def _edges(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    near = [info.min, info.min + 1, info.max, info.max - 1, *EDGES, *(-edge for edge in EDGES)]
    return [edge for edge in near if info.min <= edge <= info.max]


def _defined(model: ModelProto, feeds: dict[str, Array]) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, feeds)
        results = onnx.shape_inference.infer_shapes(model).graph.output
        dtypes = [helper.tensor_dtype_to_np_dtype(result.type.tensor_type.elem_type) for result in results]
        # numpy sums 32 bits in 64.
        return [np.asarray(value).astype(dtype) for value, dtype in zip(found, dtypes, strict=True)]
    except Exception:  # an attribute or type that it does not take
        return None


def function(net: Net) -> None:
    kind = net.choice(["Abs", "Neg", "Relu", "Sign", "BitwiseNot", "Identity"])
    net.add(kind, [net.pick(net.choice({"Neg": SIGNED, "Relu": SIGNED, "Identity": net.dtypes}.get(kind, INTEGERS)))])


def pair(net: Net, kinds: Sequence[str], dtypes: Sequence[str]) -> None:
    x = net.pick(net.choice(dtypes))
    operands = [x, partner(net, x)]
    kind = net.choice(kinds)
    # ONNX has no result for a division by zero, or of the least number by -1.
    if kind in ("Div", "Mod") and not _divides(net.values[operands[1]]):
        operands[1] = net.constant(net.number(2, 100), net.values[x].dtype.name)
    fmod = int(kind == "Mod" and (net.values[x].dtype.kind == "f" or net.chance(0.3)))
    net.add(kind, operands, **({"fmod": fmod} if kind == "Mod" else {}))


def _divides(divisor: Array) -> bool:
    return bool(np.all(divisor != 0) and (divisor.dtype.kind != "i" or np.all(divisor != -1)))


def several(net: Net) -> None:
    x = net.pick(net.choice(NUMBERS))
    net.add(net.choice(["Max", "Min"]), [x, *(partner(net, x) for _ in range(net.number(0, 3)))])


def shift(net: Net) -> None:
    x = net.pick(net.choice(UNSIGNED))
    dtype = net.values[x].dtype
    shape = thinned(net, net.values[x].shape)
    by = net.choices.numpy().integers(0, dtype.itemsize * 8, shape).astype(dtype)
    net.add("BitShift", [x, net.give(by)], direction=net.choice(["LEFT", "RIGHT"]))


def power(net: Net) -> None:
    x = net.pick(net.choice(["int32", "int64", "float32"]))
    exponent = net.give(np.asarray(net.number(0, MAX_EXPONENT), net.choice(INTEGERS)))
    net.add("Pow", [x, exponent])


def choose(net: Net) -> None:
    y = net.pick(net.choice(COMPUTED))
    operands = [y, partner(net, y)]
    net.add("Where", [net.new(thinned(net, net.values[y].shape), "bool"), *operands[:: net.choice([1, -1])]])


def cast(net: Net) -> None:
    x, to = net.pick(net.choice(net.dtypes)), net.choice(net.dtypes)
    value = net.values[x]
    if value.dtype.kind == "f" and to in INTEGERS and value.size and np.abs(value).max() > 100:
        return  # ONNX leaves open what becomes of a float that the integer type does not have
    if value.dtype.kind == "f" and to in UNSIGNED and value.size and value.min() < 0:
        return
    net.add("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def clip(net: Net) -> None:
    dtype = net.choice(NUMBERS)
    low, high = sorted(net.array((2,), dtype).tolist())
    net.add("Clip", [net.pick(dtype), *(net.constant(end, dtype) if net.chance(0.8) else "" for end in (low, high))])


def reduce(net: Net) -> None:
    kind = "Reduce" + net.choice(["Sum", "Max", "Min", "Prod", "L1", "SumSquare", "Mean"])
    # Other runtimes compute means of integers in double.
    dtypes = {"ReduceMax": NUMBERS, "ReduceMin": NUMBERS, "ReduceMean": ["float32"]}.get(kind, ("float32", *WIDE))
    x = net.pick(net.choice(dtypes), 1, 5, lambda array: array.size > 0)
    rank = net.values[x].ndim
    axes = [axis_of(net, axis, rank) for axis in sorted(net.some(rank))]
    net.add(kind, [x, net.ints(*axes)], keepdims=net.choice([0, 1]))


def extreme(net: Net) -> None:
    x = net.pick(net.choice(NUMBERS), 1, 4, lambda array: array.size > 0)
    axis, last = net.number(0, net.values[x].ndim - 1), net.number(0, 1)
    net.add(net.choice(["ArgMax", "ArgMin"]), [x], axis=axis, keepdims=net.number(0, 1), select_last_index=last)


def cumulative(net: Net) -> None:
    x = net.pick(net.choice(["float32", *WIDE]), 1, 4, lambda array: array.size > 0)
    axis = net.number(0, net.values[x].ndim - 1)
    net.add("CumSum", [x, net.ints(axis)], exclusive=net.number(0, 1), reverse=net.number(0, 1))


def largest(net: Net) -> None:
    """Elements in order: no two are equal, of which other runtimes take any."""
    dtype, size = net.choice(NUMBERS), net.number(1, 30)
    shape = [size] if net.chance(0.5) else [net.number(1, 4), size]
    x = net.give(np.asarray(net.choices.numpy().permutation(np.prod(shape)).reshape(shape), dtype), False)
    count = net.ints(net.number(1, size))
    net.add("TopK", [x, count], 2, axis=len(shape) - 1, largest=net.number(0, 1))


def product(net: Net) -> None:
    dtype = net.choice(WIDE)
    rows, inner, columns = (net.number(1, 40) for _ in range(3))
    a, b = net.new((rows, inner), dtype), net.new((inner, columns), dtype)
    if net.chance(0.7):
        net.add("MatMul", [a, b])
        return
    flips = {f"trans{letter}": net.number(0, 1) for letter in "AB"}
    shapes = [(rows, inner)[:: 1 - 2 * flips["transA"]], (inner, columns)[:: 1 - 2 * flips["transB"]], (columns,)]
    # ONNX's evaluator multiplies by factors in double: numbers are small.
    operands = [net.give(Net.array(net, shape, dtype)) for shape in shapes]
    net.add("Gemm", operands, **flips)


def written(net: Net) -> None:
    """Values that are added to cells, or the largest of both."""
    x = net.pick(net.choice(NUMBERS), 1, 3, lambda array: array.size > 0)
    value, axis = net.values[x], net.number(0, net.values[x].ndim - 1)
    where = net.choices.numpy().integers(0, value.shape[axis], [net.number(1, size) for size in value.shape])
    reduction = net.choice(["add", "mul", "max", "min"])
    updates = net.new(where.shape, value.dtype.name)
    net.add("ScatterElements", [x, net.give(where), updates], axis=axis, reduction=reduction)


def one_hot(net: Net) -> None:
    indices = net.choices.numpy().integers(-6, 6, net.shape(0, 2)).astype(net.choice(["int64", "int32", "uint8"]))
    dtype = net.choice(COMPUTED)
    values = net.give(np.asarray(net.array((2,), dtype)))
    net.add("OneHot", [net.give(indices), net.constant(6, "int64"), values], axis=net.choice([-1, 0]))


def pool(net: Net) -> None:
    x = net.new((1, net.number(1, 5), net.number(3, 12), net.number(3, 12)), net.choice(["int8", "uint8"]))
    net.add("MaxPool", [x], kernel_shape=[net.number(1, 3), net.number(1, 3)], strides=[net.number(1, 2)] * 2)


def reversed_rows(net: Net) -> None:
    x = net.pick(net.choice(COMPUTED), 2, 4, lambda array: array.size > 0)
    steps, batch = net.values[x].shape[:2]
    lengths = net.choices.numpy().integers(1, steps + 1, batch)
    net.add("ReverseSequence", [x, net.give(lengths)], time_axis=0, batch_axis=1)


NODES = {
    function: 4, several: 3, shift: 1, power: 1, choose: 3, cast: 5, clip: 2, reduce: 4, extreme: 2, cumulative: 1,
    largest: 1, product: 2, written: 2, one_hot: 1, pool: 1, reversed_rows: 1, moves.transpose: 1, moves.slices: 2,
    moves.concat: 2, moves.split: 1, moves.gather: 2, moves.gather_elements: 1, moves.scatter: 1, moves.expand: 1,
    moves.tile: 1, moves.pad: 2, moves.triangle: 1,
    partial(pair, kinds=["Add", "Sub", "Mul", "Div", "Mod"], dtypes=NUMBERS): 6,
    partial(pair, kinds=["BitwiseAnd", "BitwiseOr", "BitwiseXor"], dtypes=INTEGERS): 2,
    partial(pair, kinds=["Less", "Greater", "LessOrEqual", "GreaterOrEqual"], dtypes=NUMBERS): 3,
    partial(pair, kinds=["Equal"], dtypes=COMPUTED): 1,
    partial(pair, kinds=["And", "Or", "Xor"], dtypes=["bool"]): 1,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    net = TypedNet(choices, room, choices.pick_one([21, 18]))
    longest = choices.pick_one([9, 70, room // 8])
    net.draw_size = lambda: choices.pick_one([1, 2, 3, choices.number(1, longest)])
    return grown(net, NODES, choices.number(1, 3))
