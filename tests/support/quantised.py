"""Random quantised operators with operands that fit them. Used by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tests.support.movement import broadcastable, sizes, values
from tests.support.tflite_draws import fixed_softmax, row_lengths, scaled_add, word_sigmoid, word_softmax
from tests.targets.pulp.random_cases import Draw
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops._windows import reach
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.quantizelinear import QuantizeLinear

BYTES8 = ("int8", "uint8")
NARROW = ("int8", "uint8", "int16", "uint16")


def shape_and_axis(random: Generator) -> tuple[Shape, int | None]:
    """A shape, and one of its axes or none."""
    shape = sizes(random, int(random.integers(1, 5)), low=1)
    axis = int(random.integers(-1, len(shape)))
    return shape, None if axis < 0 else axis


def constants(random: Generator, dtype: str, shape: Shape, axis: int | None) -> list[Array]:
    """A scale and a zero point, per tensor or per axis."""
    size = () if axis is None else (shape[axis],)
    return [random.uniform(0.01, 0.2, size).astype(np.float32), np.asarray(values(random, size, dtype))]


def quantizelinear(random: Generator) -> Case:
    (shape, axis), dtype = shape_and_axis(random), str(random.choice(NARROW))
    x = (random.standard_normal(shape) * 20).astype(np.float32)
    return QuantizeLinear(axis or 0), [x, *constants(random, dtype, shape, axis)]


def dequantizelinear(random: Generator) -> Case:
    (shape, axis), dtype = shape_and_axis(random), str(random.choice([*NARROW, "int32"]))
    return DequantizeLinear(axis or 0), [values(random, shape, dtype), *constants(random, dtype, shape, axis)]


def lookup(random: Generator) -> Case:
    (shape, axis), to = shape_and_axis(random), str(random.choice(NARROW))
    entries = (ENTRIES,) if axis is None else (shape[axis], ENTRIES)
    return Lookup(axis or 0), [values(random, shape, str(random.choice(BYTES8))), values(random, entries, to)]


def qlinearadd(random: Generator) -> Case:
    kinds, to = [str(kind) for kind in random.choice(BYTES8, 2)], str(random.choice(NARROW))
    muls = [int(mul) for mul in random.integers(-(2**20), 2**20, 2)]
    op = QLinearAdd(*muls, int(random.integers(-(2**28), 2**28)), full_range(20, to, 3, "half_even"))
    return op, [values(random, shape, kind) for shape, kind in zip(broadcastable(random), kinds, strict=True)]


def qlinearmul(random: Generator) -> Case:
    *kinds, to = (str(kind) for kind in random.choice(NARROW, 3))
    zeros = [int(zero) for zero in random.integers(0, 9, 2)]
    op = QLinearMul(*zeros, 12345, full_range(25, to, 1, "half_even"), int(random.integers(-(2**30), 2**30)))
    return op, [values(random, shape, kind) for shape, kind in zip(broadcastable(random), kinds, strict=True)]


def qlinearreducemean(random: Generator) -> Case:
    shape, dtype = sizes(random, int(random.integers(1, 5)), low=1), str(random.choice(NARROW))
    axes = tuple(axis for axis in range(len(shape)) if random.random() < 0.6) or (0,)
    op = QLinearReduceMean(axes, bool(random.integers(0, 2)), 2, 2**24, full_range(24, dtype, 2, "half_even"))
    return op, [values(random, shape, dtype)]


def qlinearaveragepool(random: Generator) -> Case:
    rank, dtype = int(random.integers(1, 3)), str(random.choice(NARROW))
    kernel, strides, dilations = (tuple(map(int, random.integers(1, 4, rank))) for _ in range(3))
    pads = tuple(map(int, random.integers(0, 5, 2 * rank)))
    needed = [max(1, reach(kernel[i], dilations[i]) - pads[i] - pads[rank + i]) for i in range(rank)]
    spatial = (need + int(random.integers(0, 4)) for need in needed)
    requant = full_range(24, dtype, 5, "half_even")
    x = values(random, (*map(int, random.integers(1, 4, 2)), *spatial), dtype)
    op = QLinearAveragePool(strides, dilations, pads, kernel, 5, 2**24, requant)
    if random.integers(0, 2):
        return op, [x]
    return replace(op, channels_last=True), [np.ascontiguousarray(np.moveaxis(x, 1, -1))]


def qlinearsoftmax(random: Generator) -> Case:
    shape, (dtype, to) = sizes(random, int(random.integers(1, 5)), low=1), random.choice(BYTES8, 2)
    low, high = limits(str(to))
    op = QLinearSoftmax(int(random.integers(0, len(shape))), 2**60, Requant(52, str(to), low, high, low, "half_even"))
    table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    return op, [values(random, shape, str(dtype)), table]


def beside(random: Generator, shape: Shape) -> Shape:
    """A shape that broadcasts with another and has all of its last axis."""
    kept = [size if random.random() < 0.5 else 1 for size in shape[:-1]]
    return (*kept[int(random.integers(0, len(shape))) :], shape[-1])


def qlinearmaskedsoftmax(random: Generator) -> Case:
    shape, (dtype, to) = sizes(random, int(random.integers(1, 5)), low=1), random.choice(BYTES8, 2)
    low, high = limits(str(to))
    op = QLinearMaskedSoftmax(2**60, Requant(52, str(to), low, high, low, "half_even"))
    table = np.round(np.exp(-0.05 * np.arange(ENTRIES)) * 2**24).astype(np.int32)
    mask = random.integers(0, 2, beside(random, shape)).astype(np.uint8)
    if random.integers(0, 2):
        return op, [values(random, shape, str(dtype)), mask, table]
    bits, count = int(random.integers(1, 9)), int(random.integers(1, 300))
    tables = [np.exp(-0.0003 * np.arange(count) * 2**bits) * 2**24, np.exp(-0.0003 * np.arange(2**bits)) * 2**15]
    return replace(op, bits=bits), [values(random, shape, "int16"), mask, np.concatenate(tables).astype(np.int32)]


def qlinearrotate(random: Generator) -> Case:
    *outer, half = sizes(random, int(random.integers(1, 5)), low=1)
    dtype, to = (str(kind) for kind in random.choice(NARROW, 2))
    op = QLinearRotate(
        bool(random.integers(0, 2)), int(random.integers(-100, 100)), 12345, full_range(36, to, 3, "half_even")
    )
    shape = (*outer, 2 * half)
    tables = [values(random, table, "int16") for table in [beside(random, shape)] * 2]
    return op, [values(random, shape, dtype), *tables]


def qlineargather(random: Generator) -> Case:
    rows, length = sizes(random, 2, low=1)
    dtype, to = str(random.choice(BYTES8)), str(random.choice(NARROW))
    places = random.integers(-rows - 1, rows + 1, sizes(random, int(random.integers(1, 3)), low=1))
    factors = random.integers(-(2**30), 2**30, rows), random.integers(-(2**22), 2**22, length)
    op = QLinearGather(full_range(int(random.integers(33, 50)), to, int(random.integers(-3, 4))))
    indices = places.astype(str(random.choice(("int32", "int64"))))
    return op, [values(random, (rows, length), dtype), indices, *(one.astype(np.int32) for one in factors)]


def argmax_matmul(random: Generator) -> Case:
    rows, words, length, block = (int(random.integers(1, most)) for most in (4, 30, 20, 9))
    a, b = values(random, (rows, length), "int8"), values(random, (words, length), "int8")
    mul = random.integers(1 << 8, 1 << 12, words).astype(np.int32)
    each = random.integers(-5000, 5000, words).astype(np.int32) if random.integers(0, 2) else None
    return ArgMaxMatMul(block, full_range(22, "int16", 5, "half_even")), [a, b, each, mul, each]


def best_block(random: Generator) -> Case:
    shape, block = tuple(int(random.integers(1, most)) for most in (4, 3, 12)), int(random.integers(1, 9))
    places = random.integers(0, block, shape).astype(np.int32)
    return BestBlock(block), [values(random, shape, "int16"), places]


def qlinearfunction(random: Generator) -> Case:
    shape, to, size = (
        sizes(random, int(random.integers(1, 5)), low=1),
        str(random.choice(NARROW)),
        random.integers(0, 17),
    )
    op = QLinearFunction(full_range(20, to, 3, "half_even"))
    table = random.integers(-(2 ** (12 + size)), 2 ** (12 + size), 2**size + 1).astype(np.int32)
    return op, [values(random, shape, "int16"), table]


def qlinearsteps(random: Generator) -> Case:
    shape, to = sizes(random, int(random.integers(1, 5)), low=1), str(random.choice(BYTES8))
    return QLinearSteps(), [values(random, shape, "int16"), values(random, (2 ** int(random.integers(1, 17)),), to)]


def qlinearresize(random: Generator) -> Case:
    shape, (dtype, to) = sizes(random, int(random.integers(1, 5)), low=1), (str(k) for k in random.choice(NARROW, 2))
    axis, (count, taps) = int(random.integers(0, len(shape))), sizes(random, 2, low=1)
    weight = random.integers(-(2**12), 2**12, (count, taps)).astype(np.int32)
    op = QLinearResize(axis, 3, full_range(10, to, 1, "half_even"))
    return op, [values(random, shape, dtype), random.integers(0, shape[axis], (count, taps)).astype(np.int32), weight]


def qlinearrownorm(random: Generator) -> Case:
    shape, (dtype, to) = (
        sizes(random, int(random.integers(1, 5)), low=1),
        (str(kind) for kind in random.choice(NARROW, 2)),
    )
    axis = int(random.integers(0, len(shape)))
    first, end = int(random.integers(0, axis + 1)), int(random.integers(axis, len(shape) + 1))
    block = (*(1,) * first, *shape[first:end], *(1,) * (len(shape) - end))
    mul, add = (random.integers(-(2**30), 2**30, block).astype(np.int32) for _ in range(2))
    requant = full_range(45, to, 3, "half_even")
    op = QLinearRowNorm(axis, bool(random.integers(0, 2)), 2, int(random.integers(0, 2**20)), 8, 15, requant)
    return op, [values(random, shape, dtype), mul, add]


def drawn(random: Generator) -> Draw:
    return Draw(int(random.integers(2**32)))


MAKERS: dict[str, Callable[[Generator], Case]] = {
    "QuantizeLinear": quantizelinear,
    "DequantizeLinear": dequantizelinear,
    "Lookup": lookup,
    "QLinearAdd": qlinearadd,
    "QLinearFunction": qlinearfunction,
    "QLinearMul": qlinearmul,
    "QLinearSteps": qlinearsteps,
    "QLinearReduceMean": qlinearreducemean,
    "QLinearAveragePool": qlinearaveragepool,
    "QLinearResize": qlinearresize,
    "QLinearRowNorm": qlinearrownorm,
    "QLinearSoftmax": qlinearsoftmax,
    "QLinearMaskedSoftmax": qlinearmaskedsoftmax,
    "QLinearRotate": qlinearrotate,
    "QLinearGather": qlineargather,
    "ArgMaxMatMul": argmax_matmul,
    "BestBlock": best_block,
    "TfliteAdd": lambda random: scaled_add(drawn(random)),
    "TfliteL2Norm": lambda random: row_lengths(drawn(random)),
    "TfliteSigmoid": lambda random: word_sigmoid(drawn(random)),
    "TfliteSoftmax": lambda random: fixed_softmax(drawn(random)),
    "TfliteSoftmax16": lambda random: word_softmax(drawn(random)),
}
