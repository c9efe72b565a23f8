"""Random layers of the operators that accelerators usually take: for checks of declarations, drivers and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache

import numpy as np

from tilewright.accelerator.chains import chained, part_of, steps_of
from tilewright.accelerator.crossbars.cells import Cells
from tilewright.accelerator.crossbars.operators import CrossbarConv
from tilewright.accelerator.declaration import CHANNELS_LAST, REQUANTISE, Pattern, texts
from tilewright.accelerator.finding import find_operator
from tilewright.errors import Refusal, instance
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, TensorType, limits, type_of
from tilewright.ops._elementwise import Elementwise
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.relu import Relu
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.records import dataclass

Random = np.random.Generator
PLAIN = ("float32", "int32", "int8", "bool")
"""Element types that are tried, where nothing else is said."""


@dataclass(frozen=True, eq=False)
class Sample:
    op: Op
    arrays: tuple[Array | None, ...]

    @property
    def types(self) -> dict[str, TensorType]:
        operands = self.op.bind([None if array is None else type_of(array) for array in self.arrays])
        results = self.op.infer(operands)
        return operands | dict(zip(self.op.result_names(len(results)), results, strict=True))

    @property
    def filled(self) -> list[Array | None]:
        """One for each operand that the operator may have."""
        return [*self.arrays, *[None] * (len(self.op.operands) - len(self.arrays))]


Maker = Callable[[Random, Pattern, bool, TensorType | None], Sample]
"""The last argument is the type of the first operand, where that is given."""


def sample(random: Random, pattern: Pattern, requantises: bool = False) -> Sample:
    """One layer, which may or may not fulfil the pattern's conditions. `requantises` besides those of its operators
    that say so."""
    parts: list[Sample] = []
    given: TensorType | None = None
    for number, step in enumerate(steps_of(pattern), 1):
        make = maker_of(step.op)
        if make is None:
            raise Refusal(f"there are no random layers of {step.op}")
        parts.append(make(random, part_of(pattern, number), requantises or step.requantises, given))
        given = parts[-1].types[parts[-1].op.results[0]]
    return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: Sequence[Sample]) -> Sample:
    """Each behind the one before; operands that it leaves out have their places."""
    first, *others = parts
    arrays = [*first.filled]
    for other in others:
        arrays += other.filled[1:]
    return Sample(chained([part.op for part in parts]), tuple(arrays))


def without_samples(pattern: Pattern) -> str:
    """The operator of a pattern that there are no random layers of; empty where there are."""
    return next((step.op for step in steps_of(pattern) if maker_of(step.op) is None), "")


def maker_of(op: str) -> Maker | None:
    """Of operators that work element by element there need not be one of their own."""
    return MAKERS.get(op) or _plain_maker(op)


@cache
def _plain_maker(op: str) -> Maker | None:
    kind = find_operator(op)
    if kind is None or not issubclass(kind, Elementwise) or any(name.endswith(("?", "*")) for name in kind.operands):
        return None
    accepted = kind.accepts or frozenset(PLAIN)
    for dtype in PLAIN:
        made = _elementwise(kind, kind.operands, dtype)
        try:
            if dtype in accepted and made(np.random.default_rng(0), Pattern("any", op, {}), False, None).types:
                return made
        except (Refusal, TypeError):
            continue
    return None


def _dtype(random: Random, pattern: Pattern, name: str, otherwise: str) -> str:
    return str(random.choice(texts(pattern.types[name]))) if name in pattern.types else otherwise


def _first_dtype(random: Random, pattern: Pattern, name: str, otherwise: str, given: TensorType | None) -> str:
    return given.dtype if given else _dtype(random, pattern, name, otherwise)


def _values(random: Random, dtype: str, shape: tuple[int, ...]) -> Array:
    if dtype == "float32":
        return random.standard_normal(shape).astype(np.float32)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    low, high = limits(dtype)
    return random.integers(max(low, -(2**15)), min(high, 2**15), shape, endpoint=True).astype(dtype)


SCALES = (Rounding.DOUBLE, Rounding.DOUBLE_UP, Rounding.SINGLE)
ROUNDINGS = (Rounding.HALF_EVEN, Rounding.HALF_UP, Rounding.HALF_AWAY, *SCALES)


def _requant(random: Random, pattern: Pattern, channels: int) -> tuple[Requant, Array, Array | None]:
    """In all roundings that layers come with; those that the pattern does not take it refuses."""
    dtype = _dtype(random, pattern, "Y", "int8") if REQUANTISE in pattern.chain else "int8"
    rounding = ROUNDINGS[int(random.choice(len(ROUNDINGS)))]
    zero = int(random.integers(-20, 20)) if dtype == "int8" else 0
    shape = (channels,)
    if rounding in SCALES:
        made = Requant(0, dtype, *limits(dtype), zero_point=zero, rounding=rounding)
        return (
            made,
            random.integers(2**30, 2**31 - 1, shape).astype(np.int32),
            random.integers(-12, -4, shape, dtype=np.int32),
        )
    mul = random.integers(2**28, 2**30, shape).astype(np.int32)
    add = random.integers(-(2**30), 2**30, shape).astype(np.int32)
    return full_range(int(random.integers(36, 42)), dtype, zero, rounding), mul, add if random.integers(2) else None


def _conv(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    last = pattern.layout == CHANNELS_LAST
    kernel = int(random.choice([1, 3, 3, 5]))
    kernels = (kernel, kernel if random.integers(4) else 1)
    stride, groups = int(random.choice([1, 1, 1, 2])), 1
    channels, filters = (int(random.choice([1, 3, 8, 16, 20])) for _ in range(2))
    channels = _channels(given.shape, last) if given else channels
    if not random.integers(6):
        groups, filters = channels, channels
    pad = tuple(k // 2 for k in kernels) if random.integers(4) else (0, 0)
    image = tuple(int(random.integers(max(k, 4), 12)) for k in kernels)
    x, w = ((1, channels, *image), (filters, channels // groups, *kernels))
    x, w = ((x[0], *x[2:], x[1]), (w[0], *w[2:], w[1])) if last else (x, w)
    x = given.shape if given else x
    kinds = _first_dtype(random, pattern, "X", "int8", given), _dtype(random, pattern, "W", "int8")
    zeros = tuple(int(random.integers(-5, 6)) if kind == "int8" and random.integers(2) else 0 for kind in kinds)
    requant, mul, add = _requant(random, pattern, filters) if requantises else (None, None, None)
    op = Conv((stride, stride), (1, 1), (*pad, *pad), groups, zeros[0], zeros[1], requant, channels_last=last)
    bias = _bias(random, pattern, "B", kinds[0], filters)
    return Sample(op, (_values(random, kinds[0], x), _values(random, kinds[1], w), bias, mul, add))


def _crossbar_conv(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    """With cells of any kind: the device is told all about them."""
    made = _conv(random, pattern, requantises, given)
    plain = instance(made.op, Conv)
    if plain.groups > 1:
        return _crossbar_conv(random, pattern, requantises, given)
    rows, columns = (int(random.choice((16, 64, 256))) for _ in range(2))
    cell_bits, input_bits, adc_bits = (int(random.choice(some)) for some in ((1, 2, 4), (1, 2, 8), (0, 6, 12)))
    noise, stuck = (int(random.choice((0, most))) for most in (2**14, 2**24))
    ranges = (0, 2**31), (0, 9), (1, 4), (0, 2)
    seed, first, copies, resident = (int(random.integers(low, high)) for low, high in ranges)
    cells = Cells(rows, columns, cell_bits, input_bits, adc_bits, 2**15, noise, stuck, seed, first, copies, resident)
    op = CrossbarConv(**{one.name: getattr(plain, one.name) for one in fields(Conv)}, cells=cells)
    return Sample(op, made.arrays)


def _bias(random: Random, pattern: Pattern, name: str, factors: str, channels: int) -> Array | None:
    dtype = _dtype(random, pattern, name, "float32" if factors == "float32" else "int32")
    return _values(random, dtype, (channels,)) if random.integers(4) else None


def _channels(shape: Shape, last: bool) -> int:
    return shape[-1 if last else 1] if len(shape) > 1 else 1


def _matmul(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    m, n, k = (int(random.choice([1, 4, 7, 16, 24])) for _ in range(3))
    a = given.shape if given and given.shape else (m, k)
    k = a[-1]
    kinds = _first_dtype(random, pattern, "A", "int8", given), _dtype(random, pattern, "B", "int8")
    trans = bool(random.integers(2))
    requant, mul, add = _requant(random, pattern, n) if requantises else (None, None, None)
    zeros = tuple(int(random.integers(-5, 6)) if kind == "int8" and random.integers(2) else 0 for kind in kinds)
    op = MatMul(trans_b=trans, a_zero=zeros[0], b_zero=zeros[1], requant=requant)
    bias = _bias(random, pattern, "C", kinds[0], n)
    b = (n, k) if trans else (k, n)
    return Sample(op, (_values(random, kinds[0], a), _values(random, kinds[1], b), bias, mul, add))


def _elementwise(kind: type[Op], operands: Sequence[str], otherwise: str) -> Maker:
    def make(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
        shape = _shape(random, given)
        dtype = _first_dtype(random, pattern, operands[0], otherwise, given)
        # Without zeros: there are divisions.
        arrays = (_values(random, dtype, shape) for _ in operands)
        return Sample(kind(), tuple(array if dtype == "bool" else array + (array == 0) for array in arrays))

    return make


def _shape(random: Random, given: TensorType | None) -> Shape:
    return given.shape if given else tuple(int(size) for size in random.integers(1, 9, 3))


def _qlinear_add(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    shape = _shape(random, given)
    dtype = _first_dtype(random, pattern, "A", "int8", given)
    first, second, offset = (int(random.integers(2**18, 2**20)) for _ in range(3))
    requant = full_range(20, dtype, int(random.integers(-9, 9)) if dtype == "int8" else 0, Rounding.HALF_EVEN)
    op = QLinearAdd(first, second, offset, requant=requant)
    return Sample(op, tuple(_values(random, dtype, shape) for _ in "AB"))


def _tflite_add(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    """Scales as of two tensors that are about as wide as their sum."""
    shape = _shape(random, given)
    first, second = (
        Summand(int(random.integers(-20, 20)), int(random.integers(2**30, 2**31)), -int(random.integers(0, 3)))
        for _ in "AB"
    )
    requant = Requant(0, "int8", *limits("int8"), zero_point=int(random.integers(-20, 20)), rounding=Rounding.DOUBLE)
    op = TfliteAdd(20, first, second, int(random.integers(2**30, 2**31)), -int(random.integers(18, 20)), requant)
    return Sample(op, tuple(_values(random, "int8", shape) for _ in "AB"))


def _maxpool(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    """Half of them with plain windows of 2 x 2, which simple devices take."""
    last, stride = pattern.layout == CHANNELS_LAST, int(random.choice([1, 2]))
    channels, height, width = int(random.choice([1, 8, 16])), *(int(size) for size in random.integers(4, 10, 2))
    x: Shape = (1, height, width, channels) if last else (1, channels, height, width)
    x = given.shape if given else x
    kernel, padding = ((2, 2), (0, 0, 0, 0)) if random.integers(2) else _windows(random)
    op = MaxPool((stride, stride), (1, 1), padding, kernel=kernel, channels_last=last)
    return Sample(op, (_values(random, _first_dtype(random, pattern, "X", "int8", given), x),))


def _windows(random: Random) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """A kernel, and padding that is smaller than it."""
    high, wide = (int(size) for size in random.integers(1, 4, 2))
    top, left, bottom, right = (int(random.integers(0, size)) for size in (high, wide, high, wide))
    return (high, wide), (top, left, bottom, right)


def _lookup(random: Random, pattern: Pattern, requantises: bool, given: TensorType | None) -> Sample:
    x = _values(random, _first_dtype(random, pattern, "X", "int8", given), _shape(random, given))
    return Sample(Lookup(), (x, _values(random, _dtype(random, pattern, "table", "int8"), (ENTRIES,))))


MAKERS: Mapping[str, Maker] = {
    "CrossbarConv": _crossbar_conv,
    "Conv": _conv, "MatMul": _matmul, "QLinearAdd": _qlinear_add, "TfliteAdd": _tflite_add, "MaxPool": _maxpool,
    "Add": _elementwise(Add, "AB", "int32"), "Mul": _elementwise(Mul, "AB", "int32"),
    "Relu": _elementwise(Relu, "X", "int32"), "Lookup": _lookup,
}  # fmt: skip
"""By the operator's name."""
