"""How an operator of N-EUREKA gets from totals to results, and the constants that it needs for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Node
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.requant.spec import INT32
from tilewright.target.target import Offer
from tilewright.targets.hwpe.finish import (
    EXACT,
    HIGH,
    MULTIPLIED,
    SCALED,
    TIES,
    Finish,
    chosen_finish,
    without_idle,
)
from tilewright.targets.hwpe.jobs import LANES
from tilewright.targets.hwpe.multiplied import Multiplied, multiplied
from tilewright.targets.hwpe.op import BY_CORES, BY_NPU, THINNED, Neureka
from tilewright.targets.hwpe.requantising import Scaling, plain, scaling
from tilewright.targets.hwpe.sums import Sums

ONES = 0x01010101
RESULTS = ("int8", "uint8", "int16", "int32")
BARE = (HIGH, EXACT, TIES, SCALED)
"""Finishes whose cores have a loop for one pixel."""
HALVES_ONLY, BYTES_AND_HALVES = ("int16",), ("int8", "uint8", "int16")
"""Of which cores finish totals that N-EUREKA multiplies: bytes only where they add them up anyway."""
AnyNeureka = TypeVar("AnyNeureka", bound=Neureka)


def results(
    sums: Sums, op: AnyNeureka, biases: Sequence[Array], thinned: bool = False, in_parts: bool = False
) -> tuple[AnyNeureka, dict[str, Array]]:
    """The operator and its constants; `biases` where windows lie inside and where over edges, `thinned` where cores
    keep only some of the results, `in_parts` where they add totals up."""
    if sums.dtype not in RESULTS:
        raise Refusal(f"its result is {sums.dtype}, N-EUREKA writes {', '.join(RESULTS)}")
    limit = _limit(sums, biases)
    found = _scaling(sums) if len(biases) == 1 else None
    if isinstance(found, Scaling):
        made = THINNED if thinned else BY_NPU
        return replace(op, shift=found.shift, made=made), {"scale": found.scale, "bias": found.bias[None]}
    if found is None and len(biases) == 1:
        return replace(op, made=THINNED if thinned else BY_NPU), {}
    if sums.requant is None or sums.mul is None:
        return replace(op, made=BY_CORES), {"bias": _bias_rows(biases, 0)}
    halves = multiplied(sums, biases, BYTES_AND_HALVES if in_parts else HALVES_ONLY)
    if halves is not None:
        return _multiplied(op, sums.requant, halves, is_shifted=len(biases) == 1)
    mul, add = sums.mul, sums.add
    if sums.requant.has_exponents and add is not None:
        mul, add = without_idle(mul, add, np.max(_reaches(sums, biases), axis=0))
    finish, add = chosen_finish(sums.requant, mul, add, limit)
    constants = {"bias": _bias_rows(biases, finish.lift), "scale": mul.astype(np.int32)}
    constants |= {} if add is None else {"add": add.astype(np.int32)}
    return replace(op, made=BY_CORES, finishing=finish), constants


def _multiplied(
    op: AnyNeureka, requant: Requant, halves: Multiplied, is_shifted: bool
) -> tuple[AnyNeureka, dict[str, Array]]:
    """With what N-EUREKA multiplies and, where all results have one bias, shifts."""
    finish = Finish(MULTIPLIED, requant, 0 if is_shifted else halves.shift)
    made = replace(op, made=BY_CORES, finishing=finish, shift=halves.shift if is_shifted else 0)
    return made, {"bias": halves.bias, "scale": halves.scale}


def bare(op: AnyNeureka, constants: Mapping[str, Array]) -> tuple[AnyNeureka, dict[str, Array]]:
    """An operator whose only pixel gets its bias from the cores; itself where there is none, or it would not pay."""
    if op.finishing is None or op.finishing.mode not in BARE or constants["bias"].shape[1] <= LANES:
        return op, dict(constants)
    found = {name: array for name, array in constants.items() if name != "bias"}
    bias = constants["bias"][:1]
    if bias.any():
        found["bias"] = bias
    return replace(op, bare=True), found


def _bias_rows(biases: Sequence[Array], lift: int) -> Array:
    """What N-EUREKA adds to totals, what the cores add besides at edges, and bytes of a power of two as scales."""
    inside = biases[0]
    rows = [inside << lift, *((edge - inside) << lift for edge in biases[1:]), np.full(len(inside), ONES << lift)]
    return np.stack(rows).astype(np.int32)


def _scaling(sums: Sums) -> Scaling | str | None:
    """None where totals are stored as they are."""
    if sums.requant is not None and sums.mul is not None:
        return scaling(sums.requant, sums.totals, sums.mul, sums.add)
    return plain(sums.totals) if sums.totals.bias.any() else None


def _limit(sums: Sums, biases: Sequence[Array]) -> int:
    most = int(np.max(_reaches(sums, biases)))
    if most > INT32[1]:
        raise Refusal(f"accumulators of up to 2^{most.bit_length() - 1} do not fit N-EUREKA's 32 bits")
    return most


def _reaches(sums: Sums, biases: Sequence[Array]) -> list[Array]:
    """How far from 0 totals of each filter are at most, with each of the biases and without."""
    totals = sums.totals
    return [np.abs(end + bias) for bias in (*biases, 0) for end in (totals.low, totals.high)]


def named(node: Node, x: str, op: Neureka, constants: Mapping[str, Array], form: str = "neureka") -> Offer:
    """An offer whose constants have names of their own, as those of its other forms have."""
    names = {name: f"{node.key} {form} {name}" for name in constants}
    inputs = [x, *(names.get(name.rstrip("?"), "") for name in op.operands[1:])]
    while not inputs[-1]:
        inputs.pop()
    arrays = {names[name]: np.ascontiguousarray(array) for name, array in constants.items()}
    return Offer(op, tuple(inputs), arrays)
