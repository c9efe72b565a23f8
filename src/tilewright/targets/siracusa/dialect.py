"""Kernels of the QuantLab-style integer dialect on bytes."""

from __future__ import annotations

from typing import cast

from tilewright.op import Op, Params
from tilewright.ops._dialect import INTEGERS
from tilewright.ops._linear import NARROW
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.requantshift import RequantShift
from tilewright.target import Kernel, Types
from tilewright.targets.siracusa.features import requantised_features
from tilewright.targets.siracusa.stages import Stage, stage

EXPONENTIALS = 256
"""Entries of a softmax's tables: one for each distance of a byte from the largest of its row."""
SHARE_BITS = 20
"""TW_SHARE_BITS in C."""


def softmax_tables(op: Op, types: Types) -> int:
    return 4 * EXPONENTIALS + EXPONENTIALS


def softmax_stage(softmax: iSoftmax) -> Stage | None:
    """What becomes of a share."""
    if softmax.out is None:
        return Stage(1, 0, 0, softmax.top, 0)
    found = stage(softmax.out.requant, softmax.out.mul, softmax.out.add, 0, softmax.top)
    return None if found is None or found.even else found


def softmax_params(op: Op, types: Types) -> Params:
    found, given = softmax_stage(cast(iSoftmax, op)), op.params(types)
    assert found is not None
    kept = {name: given[name] for name in ("rows", "length", "top", "ln2", "a", "b", "c")}
    return {**kept, "out": found.params(), "low": found.low}


def softmax_objection(op: Op, types: Types) -> str | None:
    """What isoftmax_bytes.c relies on."""
    softmax = cast(iSoftmax, op)
    if softmax.top >= EXPONENTIALS:
        return f"{softmax.top + 1} different shares; at most {EXPONENTIALS} fit its table"
    if softmax_stage(softmax) is None:
        return "its requantisation needs more than 32 bits"
    polynomials = [_polynomial(softmax, distance) for distance in range(EXPONENTIALS)]
    values = [polynomial >> halvings for polynomial, halvings in polynomials]
    fits = max(polynomials)[0] < 2**31 and values[0] * types["X"].shape[-1] < 2**32
    if not fits or min(values) < 0 or not 0 < max(values) == values[0] < 2**SHARE_BITS:
        return "its exponentials are not from 0 to that of 0, or too large"
    return None


def _polynomial(softmax: iSoftmax, distance: int) -> tuple[int, int]:
    """What stands for the exponential of -distance, and how often it is halved."""
    halvings = min(distance // softmax.ln2, 31)
    return softmax.a * (halvings * softmax.ln2 - distance + softmax.b) ** 2 + softmax.c, halvings


def norm_objection(op: Op, types: Types) -> str | None:
    """sigma of bytes is at most 256, and so shifted it must fit 31 bits; sums of squares must fit, too."""
    if cast(iRMSNorm, op).shift > 22:
        return f"a shift of {cast(iRMSNorm, op).shift}"
    return long_rows(op, types)


def long_rows(op: Op, types: Types) -> str | None:
    length = types["X"].shape[-1]
    return None if 0 < length < 2**15 else f"rows of {length} elements"


def rows(op: type[Op], source: str, header: str) -> Kernel:
    return Kernel(op, source, "X -> Y", {"X": NARROW, "Y": NARROW}, cooperative=True, header=header)


def elements(op: type[Op], source: str, header: str) -> Kernel:
    return Kernel(op, source, "X -> Y:int32", {"X": INTEGERS}, cooperative=True, header=header)


KERNELS = (
    rows(ITAMax, "itamax_rows.c", "itamax.h"),
    rows(ITAPartialMax, "itapartialmax_rows.c", "itapartialmax.h"),
    elements(iGELU, "igelu_shared.c", "igelu.h"),
    elements(iHardswish, "ihardswish_shared.c", "ihardswish.h"),
    Kernel(
        RequantShift, "requantshift_columns.c", "X mul:int32 add:int32 -> Y",
        {"X": frozenset({"int8", "uint8", "int16", "int32"}), "Y": NARROW}, cooperative=True,
        features=requantised_features, header="requantshift.h",
    ),
    Kernel(
        iLayerNorm, "ilayernorm_bytes.c", "X W:int32 B:int32 -> Y:int8", {"X": NARROW}, objection=long_rows,
        cooperative=True, header="integernorm.h",
    ),
    Kernel(
        iSoftmax, "isoftmax_bytes.c", "X -> Y", {"X": NARROW, "Y": NARROW}, softmax_params, softmax_tables,
        softmax_objection, cooperative=True,
    ),
    Kernel(
        iRMSNorm, "irmsnorm_bytes.c", "X W:int32 -> Y:int8", {"X": NARROW}, objection=norm_objection, cooperative=True,
        header="integernorm.h",
    ),
)  # fmt: skip
