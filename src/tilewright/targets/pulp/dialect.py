"""Kernels of the QuantLab-style integer dialect on bytes."""

from __future__ import annotations

from functools import cache
from typing import cast

import numpy as np

from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import NOT_AWAY
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
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.pulp.sizes import in_c

EXPONENTIALS = 256
"""Entries of a softmax's tables: one for each distance of a byte from the largest of its row."""
SHARE_BITS = 20
"""Of exponentials, for which isoftmax_bytes.c is exact."""


def softmax_params(op: Op, types: Types) -> Params:
    kept = {name: given for name, given in params_of(op, types).items() if name in ("rows", "length")}
    return {**kept, "tables": share_tables(cast(iSoftmax, op))}


def share_tables(softmax: iSoftmax) -> Params:
    return {"top": softmax.top, "exponentials": exponentials(softmax), "results": shares(softmax)}


@cache
def exponentials(softmax: iSoftmax) -> tuple[int, ...]:
    """Of every distance from a row's largest value, the farthest first."""
    polynomials = [_polynomial(softmax, distance) for distance in reversed(range(EXPONENTIALS))]
    return tuple(polynomial >> halvings for polynomial, halvings in polynomials)


@cache
def shares(softmax: iSoftmax) -> tuple[int, ...]:
    """What becomes of every share, as bits of a byte."""
    all_shares = np.arange(softmax.top + 1, dtype=np.int32)
    results = all_shares if softmax.out is None else softmax.out(all_shares)
    return tuple(int(result) & 0xFF for result in results)


def softmax_unsupported(op: Op, types: Types) -> str | None:
    """What isoftmax_bytes.c relies on."""
    softmax = cast(iSoftmax, op)
    if softmax.top >= EXPONENTIALS:
        return f"{softmax.top + 1} different shares; at most {EXPONENTIALS} fit its table"
    polynomials = (_polynomial(softmax, distance)[0] for distance in range(EXPONENTIALS))
    *others, largest = exponentials(softmax)
    fits = max(polynomials) < 2**31 and largest * types["X"].shape[-1] < 2**31
    if not fits or min(others) < 0 or not 0 < largest < 2**SHARE_BITS or max(others) > largest:
        return "its exponentials are not from 0 to that of 0, or too large"
    return None


def _polynomial(softmax: iSoftmax, distance: int) -> tuple[int, int]:
    """What stands for the exponential of -distance, and how often it is halved."""
    halvings = min(distance // softmax.ln2, 31)
    return softmax.a * (halvings * softmax.ln2 - distance + softmax.b) ** 2 + softmax.c, halvings


def long_rows(op: Op, types: Types) -> str | None:
    """Sums of squares must fit 32 bits."""
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
        {"X": frozenset({"int8", "uint8", "int16", "int32"}), "Y": NARROW}, roundings=NOT_AWAY, cooperative=True,
        work=in_c.work("tw_requantshift_columns_work"), header="requantshift.h",
    ),
    Kernel(
        iLayerNorm, "ilayernorm_bytes.c", "X W:int32 B:int32 -> Y:int8", {"X": NARROW}, unsupported_reason=long_rows,
        cooperative=True, work=in_c.work("tw_integernorm_work"), header="integernorm.h",
    ),
    Kernel(
        iSoftmax, "isoftmax_bytes.c", "X -> Y", {"X": NARROW, "Y": NARROW}, softmax_params,
        unsupported_reason=softmax_unsupported, cooperative=True, work=in_c.work("tw_isoftmax_bytes_work"),
    ),
    Kernel(
        iRMSNorm, "irmsnorm_bytes.c", "X W:int32 -> Y:int8", {"X": NARROW}, unsupported_reason=long_rows,
        cooperative=True, work=in_c.work("tw_integernorm_work"), header="integernorm.h",
    ),
)  # fmt: skip
