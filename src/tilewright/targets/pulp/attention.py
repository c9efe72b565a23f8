"""Kernels of attention in one: scores of bytes, softmax by tables and values, with tokens first."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np

from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import UP_OR_EVEN, Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops._scaling import Scaling
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Form
from tilewright.requant.spec import RequantSpec
from tilewright.target.extents import up
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.pulp.sizes import by_cores, in_c

UPPER_HALF = Form(
    "upper_half", frozenset({Arithmetic.ONCE}), dict.fromkeys(("int8", "uint8", "int16", "uint16", "int32")),
    UP_OR_EVEN, (33, 62),
)  # fmt: skip
NOT_UPPER: Params = dict.fromkeys(("mul", "half", "shift", "zero", "low", "high"), 0)


def params(op: Op, types: Types, cores: int) -> Params:
    fused = cast(QLinearAttention, op)
    largest_value = 255 * 255 * types["K"].shape[1]
    score, mix = upper_half(fused.score, largest_product(types)), upper_half(fused.mix, largest_value)
    is_upper = score is not None and mix is not None
    return {
        "exact": params_of(op, types), "together": together(types, cores), "own_bytes": own_bytes(types, cores),
        "turns": int(turns(types)), "is_upper": int(is_upper),
        "score": from_zero(score) if score else NOT_UPPER,
        "mix": dict(mix) if mix else NOT_UPPER,
    }  # fmt: skip


def from_zero(found: dict[str, int]) -> Params:
    """A requantisation whose limits are distances from its zero point."""
    return {**found, "low": found["low"] - found["zero"], "high": found["high"] - found["zero"], "zero": 0}


def largest_product(types: Types) -> int:
    """Of a query with a key, both without their zero points."""
    return types["Q"].shape[3] * 255 * (2**15 if types["K"].dtype == "int16" else 255)


def upper_half(scaling: Scaling, largest: int) -> dict[str, int] | None:
    """Where only the upper half of a product with the factor matters, and no total up to the largest can be a tie."""
    r, ends = scaling.requant, np.array([largest])
    if not UPPER_HALF.takes(RequantSpec(r, np.array([scaling.mul]), np.array([scaling.add]), -ends, ends)):
        return None
    return {
        "mul": scaling.mul, "half": 1 << (r.shift - 33), "shift": r.shift - 32, "zero": r.zero_point, "low": r.low,
        "high": r.high,
    }  # fmt: skip


def unsupported_reason(op: Op, types: Types) -> str | None:
    fused, (*_, length), width = cast(QLinearAttention, op), types["Q"].shape, types["V"].shape[3]
    if length % 4 or width % 4:
        return f"rows of {length} and {width} bytes; whole words are supported"
    if largest_product(types) + 2**20 >= 2**31:
        return f"products of rows of {length} elements may overflow 32 bits"
    shares = fused.softmax.requant
    if shares.rounding not in (Rounding.HALF_UP, Rounding.HALF_EVEN) or not 0 <= shares.high - shares.zero_point <= 255:
        return "shares that are no bytes above their zero point"
    return None if shares.low <= shares.zero_point else "shares below their zero point"


TOGETHER, ROOM, ROW = 8, 2048, 56
"""TW_TOGETHER: rows that a core takes at a time at most; bytes of scores that it does so for; bytes of own_row."""


def together(types: Types, cores: int) -> int:
    """Rows that a core takes at a time: as many as it has, but their scores take room."""
    (batch, queries, heads, _), keys = types["Q"].shape, types["K"].shape[1]
    return max(1, min(TOGETHER, ROOM // (4 * keys), up(batch * queries * heads, cores)))


def own_bytes(types: Types, cores: int) -> int:
    """For each core some rows of scores, and queries of 16 bits where keys have them."""
    wide = 2 * types["Q"].shape[3] if types["K"].dtype == "int16" else 0
    keys = -(-types["K"].shape[1] // 2) * 8
    return together(types, cores) * (keys + wide + ROW) + 16


def turns(types: Types) -> bool:
    """Whether so many queries meet the same values that these are stored anew."""
    (_, queries, heads, _), groups = types["Q"].shape, types["K"].shape[2]
    return queries * heads // groups >= MANY


MANY = 4


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            QLinearAttention, "attention_dots.c", "Q:int8 K V table:int32 position:int32 -> Y:int8",
            {"K": frozenset({"int8", "int16"}), "V": NARROW}, partial(params, cores=cores),
            by_cores("tw_attention_dots_scratch", cores), unsupported_reason, cooperative=True,
            unsplit_loops=frozenset("rsde"), work=in_c.work("tw_attention_dots_work"),
        ),
    )  # fmt: skip
