"""Random operators of the integer dialect, with operands that fit them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tests.support.movement import broadcastable, sizes, values
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, Shape
from tilewright.ops._dialect import INTEGERS
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.dequant import Dequant
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.quant import Quant
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv

HALVE = Scaling(1 << 15, 7, full_range(16, "int8"))


def integers(random: Generator, shape: Shape) -> Array:
    return values(random, shape, str(random.choice(sorted(INTEGERS))))


def shape_of(random: Generator) -> Shape:
    return sizes(random, int(random.integers(1, 5)), low=1)


def one_tensor(op: Op) -> Callable[[Generator], Case]:
    return lambda random: (op, [integers(random, shape_of(random))])


def either(*ops: Op) -> Callable[[Generator], Case]:
    return lambda random: one_tensor(ops[int(random.integers(0, len(ops)))])(random)


def row_norm(op: Op) -> Callable[[Generator], Case]:
    """With one weight (and one summand) for each column."""

    def make(random: Generator) -> Case:
        shape = shape_of(random)
        columns = [values(random, shape[-1:], "int32") for _ in op.operands[1:]]
        return op, [integers(random, shape) >> 16, *columns]

    return make


def quant(random: Generator) -> Case:
    return Quant(0.1), [values(random, shape_of(random), "float32") * np.float32(30)]


def two_tensors(op: Op) -> Callable[[Generator], Case]:
    return lambda random: (op, [integers(random, shape) for shape in broadcastable(random)])


def no_norm(random: Generator) -> Case:
    shape, other = broadcastable(random)
    return iNoNorm(7, 2), [integers(random, shape), values(random, other, "int8"), values(random, other, "int16")]


def requant_shift(random: Generator) -> Case:
    shape = shape_of(random)
    axis = int(random.integers(-1, len(shape)))
    factors = [values(random, (1 if axis < 0 else shape[axis],), "int32") for _ in range(2)]
    return RequantShift(full_range(20, "int8"), axis), [integers(random, shape), *factors]


MAKERS: dict[str, Callable[[Generator], Case]] = {
    "Dequant": one_tensor(Dequant(0.1, 3)),
    "iGELU": one_tensor(iGELU(-40, 1743)),
    "iHardswish": one_tensor(iHardswish(765, 1530, 33)),
    "iLayerNorm": row_norm(iLayerNorm(9)),
    "iNoNorm": no_norm,
    "IntegerDiv": two_tensors(IntegerDiv(3, 5, 1)),
    "iRMSNorm": row_norm(iRMSNorm(9)),
    "iSoftmax": either(iSoftmax(256, 127, 1, 173, 15599), iSoftmax(256, 127, 1, 173, 15599, out=HALVE)),
    "ITAMax": either(ITAMax(), ITAMax(out=HALVE)),
    "ITAPartialMax": either(ITAPartialMax(256, 2), ITAPartialMax(256, 2, out=HALVE)),
    "Quant": quant,
    "RequantizedAdd": two_tensors(RequantizedAdd(HALVE, UNCHANGED, HALVE)),
    "RequantShift": requant_shift,
    "TrueIntegerDiv": one_tensor(TrueIntegerDiv(3, 5, 1, 2)),
}
