"""Networks with functions: tables of bytes, and of words behind layers of 16 bits."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearfunction import QLinearFunction

ROWS, WIDTH = 12, 32
SHIFT, TABLE_BITS = 30, 8


def dense(builder: Builder, x: str, seed: int, requant: Requant, x_zero: int) -> str:
    draws = np.random.default_rng(seed)
    weights = draws.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8)
    bits = 2.0 ** (7 if requant.dtype == "int16" else 2)
    mul = (draws.uniform(0.5, 1.0, WIDTH) * bits * 2.0**requant.shift / 2**9).astype(np.int32)
    names = [builder.constant(one, "constant") for one in (weights, np.zeros(WIDTH, np.int32), mul)]
    (made,) = builder(MatMul(trans_b=True, a_zero=x_zero, requant=requant), [x, *names])
    return made


def curve(steps: np.ndarray) -> np.ndarray:
    """A rectifier with a round corner."""
    return np.asarray(steps / (1.0 + np.exp(-steps / 8.0)))


def network() -> Graph:
    """A layer of 16 bits and a function to bytes, twice, and a table of bytes behind a layer, twice."""
    builder = Builder("functions")
    x = builder.input("x", TensorType("int8", (1, ROWS, WIDTH)))
    zero = 0
    for seed in range(2):
        wide = Requant(SHIFT, "int16", -(2**15), 2**15 - 1, 1000 * seed, Rounding.HALF_UP)
        words = dense(builder, x, seed, wide, zero)
        zero = -100 + seed
        numbers = np.linspace(-128.0, 128.0, 2**TABLE_BITS + 1)
        table = np.rint((curve(numbers) * 1.5 + zero) * 2.0**13).astype(np.int32)
        entries = builder.constant(table, "table")
        narrow = Requant(13 + 16 - TABLE_BITS, "int8", -128, 127, 0, Rounding.HALF_UP)
        (x,) = builder(QLinearFunction(narrow), [words, entries])
    for seed in range(2, 4):
        bytes_ = Requant(SHIFT, "int8", -128, 127, 5 * seed, Rounding.HALF_EVEN)
        x = dense(builder, x, seed, bytes_, zero)
        table = np.clip(np.rint(60 * np.tanh((np.arange(-128, 128) - 5 * seed) / (20.0 * seed))), -128, 127)
        (x,) = builder(Lookup(), [x, builder.constant(table.astype(np.int8), "table")])
        zero = 0
    builder.output(dense(builder, x, 9, Requant(SHIFT, "int8", -128, 127, 0, Rounding.HALF_EVEN), zero))
    return builder.build()
