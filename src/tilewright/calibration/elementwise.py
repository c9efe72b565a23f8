"""Samples of operators that work element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.calibration.values import (
    TO_BYTES,
    TO_BYTES_IN_64_BITS,
    Sample,
    factors,
    large_factors,
    summands,
    values,
)
from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, type_of
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.bitcast import BitCast
from tilewright.ops.bitshift import BitShift
from tilewright.ops.cast import Cast
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.gelu import Gelu
from tilewright.ops.identity import Identity
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.mod import Mod
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.ops.where import Where

SHAPES: tuple[Shape, ...] = ((12,), (4, 16), (16, 16), (5, 120), (16, 48))
"""Of one operand, or of several that are alike."""
FEW: tuple[Shape, ...] = ((4,), (16,), (3, 24), (128,))
"""For functions of floats, some of which take thousands of cycles."""
MANY: tuple[Shape, ...] = ((64, 80), (16, 512))
"""For bytes, which are many."""
ROWS: tuple[Shape, ...] = ((16, 4), (4, 64), (40, 33), (64, 4))
"""Of an operand whose rows meet one row of the other."""
DTYPES = ("float32", "int8", "int32", "int64", "bool")
HALF = Scaling(32768, 0, TO_BYTES)

VARIANTS: dict[type[Op], tuple[Op, ...]] = {
    BitCast: (BitCast("int32"), BitCast("uint8")),
    BitShift: (BitShift("LEFT"), BitShift("RIGHT")),
    Cast: (Cast("float32"), Cast("int8"), Cast("int32"), Cast("bool")),
    Gelu: (Gelu(), Gelu("tanh")),
    Identity: (Identity(True),),
    iGELU: (iGELU(-40, 1743),),
    iHardswish: (iHardswish(765, 1530, 33),),
    iNoNorm: (iNoNorm(7, 2),),
    IntegerDiv: (IntegerDiv(3, 5, 1),),
    Mod: (Mod(), Mod(1)),
    QLinearAdd: (QLinearAdd(32000, 28000, 5, TO_BYTES),),
    QLinearMul: (QLinearMul(mul=773, requant=TO_BYTES), QLinearMul(3, -5, 773, TO_BYTES)),
    RequantizedAdd: (
        RequantizedAdd(HALF, HALF, HALF),
        RequantizedAdd(HALF, UNCHANGED, HALF),
        RequantizedAdd(UNCHANGED, UNCHANGED, HALF),
    ),
    TrueIntegerDiv: (TrueIntegerDiv(3, 5, 1, 2),),
}
"""Attributes that are tried where the defaults are not what a network has."""


def elementwise(kind: type[Op]) -> Iterator[Sample]:
    """Every variant on every type that it takes, with and without broadcasting."""
    if not issubclass(kind, Elementwise):
        return
    accepted = [dtype for dtype in DTYPES if kind.accepts is None or dtype in kind.accepts]
    for op in VARIANTS.get(kind, (kind(),)):
        for dtype in accepted:
            for shapes in _shapes(len(kind.operands), _sizes(kind, dtype)):
                arrays = [values(dtype, *shape) for shape in shapes]
                sample = op, [values("bool", *shapes[0]), *arrays[1:]] if kind is Where else arrays
                if _is_taken(*sample):
                    yield sample


def _sizes(kind: type[Op], dtype: str) -> tuple[Shape, ...]:
    if dtype == "float32" and len(kind.operands) == 1:
        return FEW
    return (*SHAPES, *MANY) if dtype == "int8" else SHAPES


def _is_taken(op: Op, arrays: Sequence[Array]) -> bool:
    """Whether the operator exists for these types."""
    try:
        op.infer(op.bind([type_of(array) for array in arrays]))
    except Refusal:
        return False
    return True


def _shapes(operands: int, alike: Sequence[Shape]) -> Iterator[list[Shape]]:
    for shape in alike:
        yield [shape] * operands
    if operands > 1:
        for shape in ROWS:
            yield [shape, *[shape[1:]] * (operands - 1)]
        yield [(600,), *[()] * (operands - 1)]


def lookups() -> Iterator[Sample]:
    for shape in (*SHAPES, *ROWS):
        yield Lookup(), [values("int8", *shape), values("int8", ENTRIES)]
        yield Lookup(), [values("int8", *shape), values("int16", ENTRIES)]
        yield Lookup(0), [values("int8", *shape), values("int8", shape[0], ENTRIES)]


def conversions() -> Iterator[Sample]:
    for shape in (*SHAPES, *ROWS):
        for size in ((), shape[-1:]):
            scale, zero = values("float32", *size), values("int8", *size)
            yield QuantizeLinear(len(shape) - 1), [values("float32", *shape), scale, zero]
            yield DequantizeLinear(len(shape) - 1), [values("int8", *shape), scale, zero]


def requantisations() -> Iterator[Sample]:
    for shape in (*SHAPES, *ROWS, (128,), (1, 200), (3, 96)):
        for dtype in ("int8", "int32"):
            yield RequantShift(TO_BYTES), [values(dtype, *shape), factors(1), summands(1)]
            row = shape[-1]
            yield RequantShift(TO_BYTES, len(shape) - 1), [values(dtype, *shape), factors(row), summands(row)]
            wide = RequantShift(TO_BYTES_IN_64_BITS, len(shape) - 1)
            yield wide, [values(dtype, *shape), large_factors(row), summands(row)]


def functions() -> Iterator[Sample]:
    table = np.arange(257, dtype=np.int32) * 100
    for shape in SHAPES:
        yield QLinearFunction(TO_BYTES), [values("int16", *shape), table]
    for shape in (*SHAPES, *MANY):
        yield QLinearSteps(), [values("int16", *shape), values("int8", 1024)]


def halves() -> Iterator[Sample]:
    """Sums and products of 8 and 16 bits."""
    to_halves, to_bytes = full_range(22, "int16", 0, Rounding.HALF_EVEN), full_range(34, "int8", 3, Rounding.HALF_EVEN)
    for shape, other in [*((shape, shape) for shape in (*SHAPES, *MANY)), *((shape, shape[1:]) for shape in ROWS)]:
        for a, b in (("int16", "int8"), ("int16", "int16"), ("int8", "int16")):
            yield QLinearAdd(3474227, 2846109, 1 << 30, to_halves), [values(a, *shape), values(b, *other)]
            yield QLinearMul(0, 0, 254251507, to_bytes), [values(a, *shape), values(b, *other)]
        yield QLinearMul(3, 5, 254251507, to_bytes), [values("int8", *shape), values("int8", *other)]


def repetitions() -> Iterator[Sample]:
    """Of one operand as a whole."""
    for times, *shape in ((2, 8, 64), (16, 8, 64), (4, 32, 64), (16, 20, 64), (3, 16, 100), (5, 13, 40)):
        yield RequantizedAdd(HALF, HALF, HALF), [values("int8", times, *shape), values("int8", *shape)]


OTHERS = (lookups, conversions, requantisations, functions, halves, repetitions)
