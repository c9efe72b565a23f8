"""Kernels that take bytes element by element, four at a time, with requantisations in 32 bits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP_OR_EVEN, Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW
from tilewright.ops._scaling import Scaling
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.where import Where
from tilewright.records import dataclass
from tilewright.requant.requant32 import Requant32, byte_factor, requant32
from tilewright.target.extents import Extents
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.elementwise import ALL
from tilewright.targets.pulp.elementwise_features import (
    binary_features,
    product_features,
    repeated_features,
)
from tilewright.targets.pulp.sizes import by_cores

BYTES2 = {"A": NARROW, "B": NARROW, "Y": NARROW}
SHORT = NARROW | {"int16", "uint16"}
TOO_WIDE = "its requantisation needs more than 32 bits"


# ---- RequantizedAdd ---------------------------------------------------------------------------------------------


def add_requants(op: Op, types: Types) -> tuple[Requant32, Requant32, Requant32] | None:
    """Of both operands, and of the sum of what they give."""
    add = cast(RequantizedAdd, op)
    ends = [limits(types[name].dtype) for name in "AB"]
    first = requant32(add.first.requant, add.first.mul, add.first.add, *ends[0])
    second = requant32(add.second.requant, add.second.mul, add.second.add, *ends[1])
    if first is None or second is None:
        return None
    low, top = first.low + second.low, first.top + second.top
    out = requant32(add.out.requant, add.out.mul, add.out.add, low, low + top, low)
    if out is None or len({first.even, second.even, out.even}) > 1:
        return None
    return first, second, out


def add_params(op: Op, types: Types) -> Params:
    stages = present(add_requants(op, types), op.kind, "has no requantisations in 32 bits")
    names = dict(zip(("first", "second", "out"), (one.params() for one in stages), strict=True))
    return {"loops": cast(Params, params_of(op, types)["loops"]), **names, "low": stages[2].low}


def add_unsupported(op: Op, types: Types) -> str | None:
    return None if add_requants(op, types) else TOO_WIDE


# ---- RequantizedAdd by tables ------------------------------------------------------------------------------------

BYTE = 256
"""Values of a byte."""
MANY = 32
"""Elements for which tables are worth their transfer."""
PIECE = 64
"""TW_PIECE in C."""


@dataclass(frozen=True)
class AddTables:
    """out[first[a] + second[b]]: entries are for the bytes from the smallest on, and for the sums from 0 on."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def plain(self) -> int:
        """How many of the first two only count from the smallest byte; 0 where it is just the first."""
        is_plain = [table == tuple(range(BYTE)) for table in (self.second, self.first)]
        return sum(is_plain) * is_plain[0]


@cache
def add_tables(add: RequantizedAdd, a: str, b: str) -> AddTables | None:
    """For operands of these types; None where a summand has more values than a byte."""
    first, second = (_all_bytes(scaling, dtype) for scaling, dtype in ((add.first, a), (add.second, b)))
    lows, tops = (first.min(), second.min()), (np.ptp(first), np.ptp(second))
    if max(tops) >= BYTE:
        return None
    sums = np.arange(sum(lows), sum(lows) + sum(tops) + 1).astype(np.int32)
    tables = (first - lows[0], second - lows[1], add.out(sums).astype(np.int32) & 0xFF)
    return AddTables(*(tuple(table.tolist()) for table in tables))


def _all_bytes(scaling: Scaling, dtype: str) -> Array:
    """What becomes of every value of a type."""
    low, high = limits(dtype)
    return scaling(np.arange(low, high + 1, dtype=np.int32)).astype(np.int64)


def tables_of(op: Op, types: Types) -> AddTables | None:
    return add_tables(cast(RequantizedAdd, op), types["A"].dtype, types["B"].dtype)


def tables_params(op: Op, types: Types) -> Params:
    found = present(tables_of(op, types), op.kind, "has no tables")
    return {"loops": cast(Params, params_of(op, types)["loops"]), "plain": found.plain, **vars(found)}


def tables_unsupported(op: Op, types: Types) -> str | None:
    if tables_of(op, types) is None:
        return "summands of more than 8 bits"
    return None if types["Y"].elements >= MANY else f"{types['Y'].elements} elements are too few for tables"


def tables_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """As of other kernels on two tensors; and what is looked up of the operands."""
    found = tables_of(op, types)
    *others, elements = binary_features(op, types, extents, cores)
    return *others, elements, elements * (2 - (found.plain if found else 0))


def looked_up(op: Op, types: Types) -> object:
    """How many operands are: the numbers in the tables change nothing else."""
    found = tables_of(op, types)
    return found and found.plain


def repeated_unsupported(op: Op, types: Types, cores: int) -> str | None:
    loops = cast("dict[str, tuple[int, ...]]", params_of(op, types)["loops"])
    if loops["stride_a"][-1:] != (1,) or loops["stride_b"] != (0, 1):
        return "it is not its second operand that is repeated as a whole"
    if types["B"].elements < cores * PIECE:
        return f"rows of {types['B'].elements}; {cores * PIECE} are needed for all cores to have a piece"
    return tables_unsupported(op, types)


# ---- products and sums of quantised tensors ---------------------------------------------------------------------


def product_ends(op: Op, types: Types) -> tuple[int, int]:
    """The smallest and the largest product."""
    product = cast(QLinearMul, op)
    (a_low, a_high), (b_low, b_high) = (limits(types[name].dtype) for name in "AB")
    left, right = (a_low - product.a_zero, a_high - product.a_zero), (b_low - product.b_zero, b_high - product.b_zero)
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def product_requant(op: Op, types: Types) -> Requant32 | None:
    return _product_requant(cast(QLinearMul, op), types["A"].dtype, types["B"].dtype)


@cache
def _product_requant(product: QLinearMul, a_dtype: str, b_dtype: str) -> Requant32 | None:
    products = np.multiply.outer(_values(a_dtype) - product.a_zero, _values(b_dtype) - product.b_zero)
    return _requant32(product.requant, product.mul, product.add, products)


def _values(dtype: str) -> Array:
    low, high = limits(dtype)
    return np.arange(low, high + 1, dtype=np.int64)


def _requant32(requant: Requant, mul: int, add: int, found: Array) -> Requant32 | None:
    """For all integers that there are. Where none of them is a tie, ties that go up are as good as ties to even."""
    ends = int(found.min()), int(found.max())
    rest = (found * mul + add) & ((1 << requant.shift) - 1)
    if np.any(rest == (1 << requant.shift) >> 1):
        return requant32(requant, mul, add, *ends)
    return requant32(replace(requant, rounding=Rounding.HALF_UP), mul, add, *ends) or requant32(
        requant, mul, add, *ends
    )


def product_params(op: Op, types: Types) -> Params:
    found, given = (
        present(product_requant(op, types), op.kind, "has no requantisation in 32 bits"),
        params_of(op, types),
    )
    kept = {name: given[name] for name in ("loops", "a_zero", "b_zero")}
    factor = byte_factor(found, cast(QLinearMul, op).requant.dtype, *product_ends(op, types))
    return {**kept, "out": found.params(), "low": found.low, "factor": factor or 0}


def product_unsupported(op: Op, types: Types) -> str | None:
    return None if product_requant(op, types) else TOO_WIDE


def without_factor(op: Op, types: Types) -> object:
    return replace(cast(QLinearMul, op), mul=1)


def sum_requant(op: Op, types: Types) -> Requant32 | None:
    return _sum_requant(cast(QLinearAdd, op), types["A"].dtype, types["B"].dtype)


@cache
def _sum_requant(total: QLinearAdd, a_dtype: str, b_dtype: str) -> Requant32 | None:
    sums = np.add.outer(_values(a_dtype) * total.mul_a, _values(b_dtype) * total.mul_b)
    return _requant32(total.requant, 1, total.offset, sums)


def sum_params(op: Op, types: Types) -> Params:
    found, given = present(sum_requant(op, types), op.kind, "has no requantisation in 32 bits"), params_of(op, types)
    kept = {name: given[name] for name in ("loops", "mul_a", "mul_b")}
    return {**kept, "out": found.params(), "low": found.low}


def sum_unsupported(op: Op, types: Types) -> str | None:
    return None if sum_requant(op, types) else TOO_WIDE


# ---- tables -----------------------------------------------------------------------------------------------------


def several_tables(op: Op, types: Types) -> str | None:
    return None if len(types["table"].shape) == 1 else "there is more than one table"


def several_scales(op: Op, types: Types) -> str | None:
    return None if types["scale"].elements == 1 else "there is more than one scale"


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            QuantizeLinear, "quantizelinear_products.c", "X:float32 scale:float32 zero -> Y",
            {"zero": NARROW, "Y": NARROW}, unsupported_reason=several_scales, cooperative=True,
            header="quantizelinear.h",
        ),
        Kernel(
            DequantizeLinear, "dequantizelinear_shared.c", "X scale:float32 zero -> Y:float32",
            {"X": SHORT, "zero": SHORT}, unsupported_reason=several_scales, cooperative=True,
            header="dequantizelinear.h",
        ),
        Kernel(
            RequantizedAdd, "requantizedadd_repeated.c", "A B -> Y", BYTES2, tables_params,
            by_cores("tw_repeated_scratch", cores), partial(repeated_unsupported, cores=cores), cooperative=True,
            features=repeated_features, header="requantizedadd_tables.h",
        ),
        Kernel(
            RequantizedAdd, "requantizedadd_tables.c", "A B -> Y", BYTES2, tables_params,
            unsupported_reason=tables_unsupported, cooperative=True, features=tables_features, planning_key=looked_up,
        ),
        Kernel(
            RequantizedAdd, "requantizedadd_bytes.c", "A B -> Y", BYTES2, add_params,
            unsupported_reason=add_unsupported, roundings=UP_OR_EVEN, cooperative=True, features=binary_features,
        ),
        Kernel(
            QLinearMul, "qlinearmul_bytes.c", "A B -> Y", BYTES2, product_params,
            unsupported_reason=product_unsupported, roundings=UP_OR_EVEN, cooperative=True, features=product_features,
            planning_key=without_factor,
        ),
        Kernel(
            QLinearAdd, "qlinearadd_bytes.c", "A B -> Y", BYTES2, sum_params, unsupported_reason=sum_unsupported,
            cooperative=True, features=binary_features,
        ),
        Kernel(
            Lookup, "lookup_bytes.c", "X table -> Y", {"X": NARROW, "table": NARROW, "Y": NARROW},
            unsupported_reason=several_tables, cooperative=True, header="lookup.h",
        ),
        Kernel(
            Where, "where_shared.c", "C:bool A B -> Y", dict.fromkeys("ABY", ALL), cooperative=True, header="ternary.h"
        ),
    )  # fmt: skip
