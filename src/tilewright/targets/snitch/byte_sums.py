"""Sums of bytes with three requantisations, by tables: one of them takes 70 cycles, and they have few values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops._scaling import Scaling
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.snitch.sizes import in_c

BYTES = 256
FEWEST = 512
"""Elements for which tables are worth making."""
CALL, ENTRY, ELEMENT = 400, 72, 11
"""Cycles: of a call, of an entry of a table, and of an element on one core."""
TABLES = in_c("tw_requantizedadd_tables_scratch")


def narrowed(op: Op, types: Types) -> RequantizedAdd:
    """A sum with its summands clipped at the ends of what bytes give: one that stays as it is has a byte too."""
    added = instance(op, RequantizedAdd)
    first, second = (_clipped(one, types[name].dtype) for one, name in ((added.first, "A"), (added.second, "B")))
    return replace(added, first=first, second=second)


@cache
def _clipped(scaling: Scaling, dtype: str) -> Scaling:
    low, high = limits(dtype)
    values = scaling(np.arange(low, high + 1, dtype=np.int32))
    return replace(scaling, requant=replace(scaling.requant, low=int(values.min()), high=int(values.max())))


def unsupported_reason(op: Op, types: Types) -> str | None:
    if types["A"].shape != types["B"].shape:
        return "an operand is broadcast"
    added = narrowed(op, types)
    if any(one.requant.high - one.requant.low >= BYTES for one in (added.first, added.second)):
        return "a summand has more than a byte"
    return f"it has less than {FEWEST} elements" if types["Y"].elements < FEWEST else None


def narrowed_params(op: Op, types: Types) -> Params:
    return params_of(narrowed(op, types), types)


def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    own = -(-math.prod(extents[f"d{i}"] for i in range(len(types["Y"].shape))) // cores)
    return CycleEstimate(cores=CALL + ENTRY * TABLES(narrowed_params(op, types), types) / cores + ELEMENT * own)


KERNELS = (
    Kernel(
        RequantizedAdd, "requantizedadd_tables.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW},
        narrowed_params, TABLES, unsupported_reason, cooperative=True, header="requantizedadd.h", cycles=cycles,
    ),
)  # fmt: skip
