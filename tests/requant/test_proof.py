"""What searches for shorter requantisations find is held to one proof, and the proof to every single total."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.requant.proof import Computation, differing
from tests.support.examples import examples
from tilewright.errors import Refusal
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import SCALED, Rounding
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import Array, limits
from tilewright.ops._scaling import Scaling
from tilewright.requant.arithmetic import Arithmetic, least_arithmetic, right_shifts
from tilewright.requant.brackets import one_line
from tilewright.requant.one_product import one_product
from tilewright.requant.requant32 import narrowed, requant32
from tilewright.requant.spec import RequantSpec
from tilewright.targets.cortex_m.ways import Filters
from tilewright.targets.hwpe.finish import chosen_finish
from tilewright.targets.hwpe.requantising import Totals, scaling
from tilewright.targets.ita.arithmetic import IDENTITY
from tilewright.targets.ita.requantising import fitted
from tilewright.targets.pulp.attention import upper_half

pytestmark = pytest.mark.fast

Search = Callable[[RequantSpec], Iterator[Computation]]
REACH = 1 << 18


def spec_of(seed: int, rounding: Rounding, reach: int = REACH) -> RequantSpec:
    """A few filters of a trained network's kind."""
    random = np.random.default_rng(seed)
    dtype = str(random.choice(["int8", "uint8"]))
    zero = int(random.choice([limits(dtype)[0], random.integers(*limits(dtype))]))
    scales = 2.0 ** random.uniform(-13, -5, 4)
    ends = -random.integers(0, reach, 4), random.integers(0, reach, 4)
    if rounding in SCALED:
        mul, add = factors(scales, rounding)
        exponents = None if add is None else add.astype(np.int64)
        return RequantSpec(full_range(0, dtype, zero, rounding), mul.astype(np.int64), exponents, *ends)
    shift = int(random.choice([16, 24, 33, 37, 40]))
    mul = np.rint(np.minimum(scales * 2.0**shift, 2.0**30)).astype(np.int64)
    mul = np.maximum(mul & -int(random.choice([1, 2, 8])), 1)
    return RequantSpec(full_range(shift, dtype, zero, rounding), mul, None, *ends)


def alike(spec: RequantSpec) -> RequantSpec:
    """With one factor for all filters."""
    return RequantSpec(spec.requant, np.full_like(spec.mul, spec.mul[0]), spec.add, spec.low, spec.high)


def clipped(spec: RequantSpec, values: Array) -> Array:
    return np.clip(values, spec.requant.low, spec.requant.high)


# ---- searches, and what is computed with what they find -------------------------------------------------------------


def arithmetic(spec: RequantSpec) -> Iterator[Computation]:
    """As `Arithmetic` says it, whatever instructions do it."""
    mul, shifts = spec.mul[:, None], right_shifts(spec.requant, spec.mul, spec.add)[:, None]
    least = least_arithmetic(spec.requant, spec.mul, spec.add, spec.largest)

    def once(totals: Array) -> Array:
        return clipped(spec, ((totals * mul + (1 << (shifts - 1))) >> shifts) + spec.requant.zero_point)

    def twice(totals: Array) -> Array:
        high, right = (totals * mul + (1 << 30)) >> 31, shifts - 31
        is_below = (high < 0) & (right > 0) & (least == Arithmetic.TWICE)
        return clipped(spec, ((high + (1 << right >> 1) - is_below) >> right) + spec.requant.zero_point)

    if least == Arithmetic.ONCE:
        yield once
    if least in (Arithmetic.TWICE, Arithmetic.TWICE_UP) and shifts.min() >= 31:
        yield twice


def pairs(spec: RequantSpec) -> Iterator[Computation]:
    """The forms of cores that multiply pairs."""
    filters = Filters(0 * spec.low, spec.mul, spec.add, spec.low, spec.high)
    form = filters.way(spec.requant)
    factor, shift, addend = (each[:, None] for each in filters.scaling(spec.requant, form))

    def by_words(totals: Array) -> Array:
        product = totals * factor
        if form in ("up", "twice"):
            high = ((product + (1 << 30)) >> 31) - ((totals < 0) & (form == "twice"))
        else:
            high = product >> 32 if form == "high" else product
        assert np.abs(high + addend).max() < 1 << 31
        return clipped(spec, (high + addend) >> shift)

    if form != "totals":
        yield by_words


def products(spec: RequantSpec) -> Iterator[Computation]:
    for shift in (None, 14):
        found = one_product(spec, shift)
        if found is not None:
            yield lambda totals, found=found: clipped(spec, found(totals))  # type: ignore[misc]


def lines(spec: RequantSpec) -> Iterator[Computation]:
    found = one_line(spec, 0 * spec.low)
    if found is not None:
        mul, summand, shift = found
        yield lambda totals: clipped(spec, (totals * mul[:, None] + summand[:, None]) >> shift)


def finishes(spec: RequantSpec) -> Iterator[Computation]:
    """What the cores do with N-EUREKA's totals."""
    exponents = None if spec.add is None else spec.add.astype(np.int32)[:, None]
    try:
        finish, summand = chosen_finish(
            spec.requant, spec.mul.astype(np.int32), None if exponents is None else exponents[:, 0],
            int(spec.largest.max()),
        )  # fmt: skip
    except Refusal:
        return
    add = None if summand is None else summand[:, None]
    yield lambda totals: finish(totals << finish.lift, spec.mul[:, None].astype(np.int32), add)


def by_npu(spec: RequantSpec) -> Iterator[Computation]:
    bias = np.arange(len(spec.mul)) * 100
    found = scaling(spec.requant, Totals(spec.low - bias, spec.high - bias, bias), spec.mul, spec.add)
    if not isinstance(found, str):
        scale, summand = (each.astype(np.int64)[:, None] for each in (found.scale, found.bias))
        yield lambda totals: clipped(spec, ((totals - bias[:, None]) * scale + summand) >> found.shift)


def by_ita(spec: RequantSpec) -> Iterator[Computation]:
    found = fitted(spec.requant, spec.mul, spec.add, np.zeros(len(spec.mul), np.int64))
    if not isinstance(found, str) and found.activation.kind == IDENTITY:
        scale, bias = found.scale, found.bias[:, None]
        mul, half, shift = scale.multiplier, 1 << scale.shift >> 1, scale.shift
        yield lambda totals: clipped(spec, (((totals + bias) * mul + half) >> shift) + scale.add)


def by_upper_halves(spec: RequantSpec) -> Iterator[Computation]:
    """Scores and mixtures of attention on XpulpV2."""
    mul, add = int(spec.mul[0]), 0 if spec.add is None else int(spec.add[0])
    found = upper_half(Scaling(mul, add, spec.requant), int(spec.largest.max()))
    if found is not None and len(set(spec.mul.tolist())) == 1:
        yield lambda totals: clipped(spec, (((totals * mul >> 32) + found["half"]) >> found["shift"]) + found["zero"])


def in_32_bits(spec: RequantSpec) -> Iterator[Computation]:
    found = requant32(spec.requant, int(spec.mul[0]), 0, int(spec.low.min()), int(spec.high.max()))
    if found is not None and not found.even and len(set(spec.mul.tolist())) == 1:
        yield lambda totals: narrowed(found, totals) + found.low


SEARCHES: tuple[Search, ...] = (
    arithmetic, pairs, products, lines, finishes, by_npu, by_ita, by_upper_halves, in_32_bits,
)  # fmt: skip


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("search", SEARCHES)
def test_what_is_found_is_the_requantisation(search: Search, rounding: Rounding) -> None:
    for seed in range(12):
        for spec in (spec_of(seed, rounding), alike(spec_of(seed, rounding))):
            assert all(differing(spec, computed) is None for computed in search(spec)), seed


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_finds_something(search: Search) -> None:
    assert any(list(search(alike(spec_of(seed, rounding)))) for seed in range(12) for rounding in Rounding)


@given(st.integers(0, 1 << 30), st.sampled_from(list(Rounding)), st.integers(-2, 2), st.integers(-40, 40))
@examples(60)
def test_the_proof_agrees_with_every_total(seed: int, rounding: Rounding, step: int, moved: int) -> None:
    """Of lines next to the requantisation, some of which are it."""
    spec = spec_of(seed, rounding, 3000)
    mul = np.maximum(np.rint(spec.slopes * 2.0**20).astype(np.int64) + step, 0)[:, None]
    summand = (1 << 19) + (spec.requant.zero_point << 20) + moved * mul // 8

    def line(totals: Array) -> Array:
        return clipped(spec, (totals * mul + summand) >> 20)

    totals = np.arange(-3000, 3001)[None, :]
    inside = (totals >= spec.low[:, None]) & (totals <= spec.high[:, None])
    is_other = inside & (line(totals + 0 * mul) != spec.results(totals + 0 * mul))
    found = differing(spec, line)
    assert (found is None) == (not is_other.any())
    if found is not None:
        has_one = found <= spec.high
        assert np.array_equal(has_one, is_other.any(axis=1))
        assert all(is_other[i, found[i] + 3000] for i in np.flatnonzero(has_one))
