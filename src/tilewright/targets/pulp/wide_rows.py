"""Kernels of the integers between the products of a decoder, of 8 and 16 bits: rotations, norms, sums, gates."""

from __future__ import annotations

from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops._qlinear import reach
from tilewright.ops.qlinearadd import QLinearAdd, magnitude
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.requant.high_word import LARGEST_SUMMAND, TIES, WORD, HighWord, high_word, is_plain, odd
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.pulp.elementwise_features import binary_features
from tilewright.targets.pulp.sizes import in_c

HALVES = NARROW | {"int16"}
TOO_WIDE = "its requantisation needs more than the upper word of a product"
LONGEST = 2**14
"""Elements of a row whose units, times 2**13, fit a word."""


def only_types(op: Op, types: Types) -> object:
    """Nothing of an operator but its types decides how it is tiled and what it costs."""
    return op.kind


# ---- products -------------------------------------------------------------------------------------------------------


def product_word(op: Op, types: Types) -> HighWord | None:
    product = cast(QLinearMul, op)
    largest = reach(types["A"].dtype, product.a_zero) * reach(types["B"].dtype, product.b_zero)
    return None if product.add or largest >= 2**31 else high_word(product.requant, product.mul, largest)


def product_params(op: Op, types: Types) -> Params:
    found, given = present(product_word(op, types), op.kind, TOO_WIDE), params_of(op, types)
    return {**{name: given[name] for name in ("loops", "a_zero", "b_zero")}, "out": found.params()}


def product_unsupported(op: Op, types: Types) -> str | None:
    return None if product_word(op, types) else TOO_WIDE


# ---- sums -----------------------------------------------------------------------------------------------------------

HALF_BITS = 16
PLACES = ("upper", "lower")


def halves(number: int) -> tuple[int, int]:
    """upper * 2**16 + lower, where lower is a signed half."""
    lower = (number + 2 ** (HALF_BITS - 1)) % 2**HALF_BITS - 2 ** (HALF_BITS - 1)
    return (number - lower) >> HALF_BITS, lower


def sum_params(op: Op, types: Types) -> Params:
    total = cast(QLinearAdd, op)
    requant = total.requant
    offset = total.offset + (1 << requant.shift >> 1) + (requant.zero_point << requant.shift)
    parts = zip(["a", "b", "offset"], map(halves, (total.mul_a, total.mul_b, offset)), strict=True)
    named = {f"{place}_{name}": part[at] for name, part in parts for at, place in enumerate(PLACES)}
    return {
        "loops": cast(Params, params_of(op, types)["loops"]), **named, "shift": requant.shift - HALF_BITS,
        "mask": (1 << requant.shift - HALF_BITS) - 1, "odd": odd(requant),
    }  # fmt: skip


def sum_unsupported(op: Op, types: Types) -> str | None:
    requant = cast(QLinearAdd, op).requant
    if not is_plain(requant) or not HALF_BITS < requant.shift < HALF_BITS + WORD - 1:
        return f"a shift of {requant.shift}, an odd range, or a rounding that is none of {', '.join(TIES)}"
    p = cast("dict[str, int]", sum_params(op, types))
    a, b = (magnitude(types[name].dtype) for name in "AB")
    upper, lower = (a * abs(p[f"{half}_a"]) + b * abs(p[f"{half}_b"]) + abs(p[f"{half}_offset"]) for half in PLACES)
    return None if upper + 2**HALF_BITS < 2**31 and lower < 2**31 else "its sum does not fit two words"


# ---- rotations ------------------------------------------------------------------------------------------------------


def rotated_word(op: Op, types: Types) -> HighWord | None:
    rotation = cast(QLinearRotate, op)
    return high_word(rotation.requant, rotation.mul, reach(types["X"].dtype, rotation.x_zero) * 2**16)


def rotation_params(op: Op, types: Types) -> Params:
    rotation, length = cast(QLinearRotate, op), types["X"].shape[-1]
    between, step = (1, 2) if rotation.interleaved else (length // 2, 1)
    return {
        "rows": cast(Params, params_of(op, types)["rows"]), "count": types["X"].elements // max(length, 1),
        "length": length, "between": between, "step": step, "x_zero": rotation.x_zero,
        "wrapped": int(rotation.requant(np.asarray(2**31), np.asarray(rotation.mul))),
        "out": present(rotated_word(op, types), op.kind, TOO_WIDE).params(),
    }  # fmt: skip


def rotation_unsupported(op: Op, types: Types) -> str | None:
    return None if rotated_word(op, types) else TOO_WIDE


# ---- norms ----------------------------------------------------------------------------------------------------------


def norm_axis(op: Op, types: Types) -> object:
    """Where rows begin, which are whole."""
    return cast(QLinearRowNorm, op).axis


def norm_unsupported(op: Op, types: Types) -> str | None:
    norm, p = cast(QLinearRowNorm, op), cast("dict[str, int]", params_of(op, types))
    shift = norm.requant.shift - WORD
    if p["repeat"] != 1 or not 0 < p["length"] <= LONGEST or not norm.lift:
        return f"rows of {p['length']} elements, {p['repeat']} for each factor, summands lifted by {norm.lift}"
    if not is_plain(norm.requant) or not 0 < shift < WORD - 1:
        return f"a shift of {norm.requant.shift}, an odd range, or a rounding that is none of {', '.join(TIES)}"
    zero = (abs(norm.requant.zero_point) + 1) << shift
    return None if zero < LARGEST_SUMMAND else "its zero point does not fit the upper word"


# ---- functions ------------------------------------------------------------------------------------------------------


def function_unsupported(op: Op, types: Types) -> str | None:
    requant = cast(QLinearFunction, op).requant
    if not is_plain(requant) or not 0 < requant.shift < WORD - 1:
        return f"a shift of {requant.shift}, an odd range, or a rounding that is none of {', '.join(TIES)}"
    return None if abs(requant.zero_point) < 2**16 else "its zero point is too large"


KERNELS = (
    Kernel(
        QLinearMul, "qlinearmul_high.c", "A B -> Y", {"A": HALVES, "B": HALVES, "Y": HALVES}, product_params,
        unsupported_reason=product_unsupported, cooperative=True, features=binary_features, planning_key=only_types,
    ),
    Kernel(
        QLinearAdd, "qlinearadd_halves.c", "A B -> Y", {"A": HALVES, "B": HALVES, "Y": HALVES}, sum_params,
        unsupported_reason=sum_unsupported, cooperative=True, features=binary_features, planning_key=only_types,
    ),
    Kernel(
        QLinearRotate, "qlinearrotate_rows.c", "X cosine:int16 sine:int16 -> Y", {"X": HALVES, "Y": HALVES},
        rotation_params, unsupported_reason=rotation_unsupported, cooperative=True,
        work=in_c.work("tw_qlinearrotate_rows_work"), planning_key=only_types,
    ),
    Kernel(
        QLinearRowNorm, "qlinearrownorm_rows.c", "X mul:int32 add:int32 -> Y", {"X": HALVES, "Y": HALVES},
        unsupported_reason=norm_unsupported, cooperative=True, header="qlinearrownorm.h",
        work=in_c.work("tw_qlinearrownorm_work"), planning_key=norm_axis,
    ),
    Kernel(
        QLinearFunction, "qlinearfunction_shared.c", "X:int16 table:int32 -> Y", {"Y": HALVES},
        unsupported_reason=function_unsupported, cooperative=True, header="qlinearfunction.h", planning_key=only_types,
    ),
    Kernel(
        QLinearSteps, "qlinearsteps_shared.c", "X:int16 table -> Y", {"table": NARROW, "Y": NARROW}, cooperative=True,
        header="qlinearsteps.h",
    ),
)  # fmt: skip
