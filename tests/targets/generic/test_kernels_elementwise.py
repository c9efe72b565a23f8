"""Elementwise kernels equal the operators' meaning, for every element type that makes a difference in C."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import elementwise
from tests.support.checks import Case, check_graph, check_kernels
from tilewright.ir.graph import Builder
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Shape, TensorType, limits
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mod import Mod
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.pow import Pow
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softplus import Softplus
from tilewright.ops.sub import Sub
from tilewright.ops.where import Where

pytestmark = pytest.mark.in_turns(6)

DTYPES = ("float32", "bool", "int8", "uint8", "int32", "int64", "uint64")
"""Of types that C treats alike (a narrow integer is a narrow integer) one stands for the others."""

SHAPES: dict[int, list[Shape]] = {1: [(4, 33)], 2: [(3, 5, 33), (5, 1)], 3: [(3, 1, 7), (5, 7), (2, 3, 5, 1)]}
"""By the number of operands."""


def cases(dtype: str) -> list[Case]:
    random = np.random.default_rng(5)
    wanted = [kind for kind in elementwise.kinds() if dtype in elementwise.dtypes(kind)]
    found = [op for kind in wanted for op in elementwise.instances(kind, dtype, DTYPES)]
    return [(op, elementwise.operands(op, dtype, SHAPES[len(op.operands)], random)) for op in found]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator(dtype: str) -> None:
    check_kernels(cases(dtype))


def test_broadcasting() -> None:
    """Each way in which an operand can advance along a row, empty tensors, scalars, and many axes."""
    pairs: list[tuple[Shape, Shape]] = [
        ((), ()), ((5,), ()), ((), (5,)), ((4, 1), (1, 5)), ((4, 5), (4, 1)), ((2, 1, 3, 1), (4, 1, 5)),
        ((0, 3), (3,)), ((3, 0), (3, 1)), ((0,), (1,)), ((1,) * 12, (2,) * 5), ((2, 1) * 4, (1, 2) * 4),
    ]  # fmt: skip
    random = np.random.default_rng(2)
    made: list[Case] = []
    for first, second in pairs:
        a, b = elementwise.values("int32", first, random), elementwise.values("int32", second, random)
        made += [(Sub(), [a, b]), (Where(), [a > 0, a, b]), (Where(), [b > 0, a, b])]
    check_kernels(made)


def test_powers_of_other_types() -> None:
    whole = np.arange(-3, 9)
    powers = {"float32": whole / 2, "int8": whole, "int64": whole, "uint64": np.abs(whole)}
    types = [("float32", "int8"), ("int32", "float32"), ("int8", "float32"), ("int8", "uint64"), ("uint8", "int64")]
    check_kernels([(Pow(), [np.abs(whole[:, None]).astype(base), powers[to].astype(to)]) for base, to in types])


def test_special_floats() -> None:
    special = np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 2.0**31, -(2.0**63), 1.5], np.float32)
    column = special.reshape(-1, 1)
    unary: list[Op] = [Relu(), Clip(-1, 1), Sigmoid(), Softplus(), *(Cast(to) for to in BYTES)]
    binary: list[Op] = [Add(), Div(), Max(), Min(), Mul()]
    check_kernels([*((op, [special]) for op in unary), *((op, [column, special]) for op in binary)])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_divisions_at_the_limits(dtype: str) -> None:
    """The smallest integer by -1, and anything by 0: processors trap, or give what they please."""
    low, high = limits(dtype)
    a, b = np.array([low, low + 1, -1, 0, 1, high], dtype), np.array([low, -2, -1, 0, 1, 3, high], dtype)
    check_kernels([(op, [a.reshape(-1, 1), b]) for op in (Div(), Mod(), Mod(fmod=1))])


def test_results_take_the_place_of_operands() -> None:
    """A chain in which every step may overwrite what the one before left."""
    builder = Builder("chain")
    x = builder.input("x", TensorType("int32", (6, 40)))
    row = builder.input("row", TensorType("int32", (40,)))
    (here,) = builder.add(Neg(), [x])
    for op, inputs in ((Add(), ("", row)), (Sub(), (row, "")), (Mul(), ("", "")), (Relu(), ("",)), (Max(), (x, ""))):
        (here,) = builder.add(op, [name or here for name in inputs])
    builder.output(builder.add(Neg(), [here])[0])
    random = np.random.default_rng(4)
    check_graph(builder.build(), {x: elementwise.values("int32", (6, 40), random), row: np.arange(40, dtype=np.int32)})
