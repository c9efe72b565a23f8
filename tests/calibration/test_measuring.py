"""Samples reach the target's kernels, and fitted costs tell what is measured."""

from __future__ import annotations

from functools import cache

import pytest

from tilewright import targets
from tilewright.calibration import measuring
from tilewright.run.kernel_bench import Case, has_room
from tilewright.target.cost_model import kernel_key
from tilewright.target.target import Target

SIRACUSA, QUAD = targets.find("siracusa"), targets.find("quad")
CLUSTERS = pytest.mark.parametrize("target", [SIRACUSA, QUAD], ids=lambda target: target.name)


@cache
def cases(name: str) -> list[Case]:
    target = targets.find(name)
    return measuring.cases(target, measuring.samples(target))


@CLUSTERS
def test_every_operator_and_every_kernel_of_the_target_has_samples(target: Target) -> None:
    """Of the kernels that it shares with others, those that its own ones leave something to; an accelerator's cycles
    are computed."""
    kernels = [kernel for engine in target.engines for kernel in engine.kernels if not kernel.offloaded]
    assert {kernel.op for kernel in kernels} == {type(case.op) for case in cases(target.name)}
    own = {kernel.stem for kernel in kernels if (target.folder / "kernels" / kernel.source).is_file()}
    assert own <= {case.kernel.stem for case in cases(target.name)}


@pytest.mark.in_turns(6)
@CLUSTERS
def test_costs_of_the_target_are_of_its_kernels(target: Target) -> None:
    """Whoever adds a kernel or changes its features runs `tilewright calibrate`."""
    costs = target.costs.kernels
    for case in cases(target.name):
        known = costs.get(kernel_key(case.kernel, case.types)) or costs.get(case.kernel.stem, ())
        assert len(known) == len(measuring.case_features(case, 8)), case.kernel.stem


@pytest.mark.in_turns(3)
def test_samples_that_the_memory_has_no_room_for_are_left_out() -> None:
    too_large = [case for case in cases("siracusa") if not has_room(case, QUAD)]
    assert too_large
    assert all(has_room(case, QUAD) for case in cases("quad"))


@pytest.mark.in_turns(5)
def test_fits_tell_what_was_measured() -> None:
    found = _timings("lookup_bytes", "neg")
    fits = {fit.key: fit for fit in measuring.fits(found)}
    assert fits["neg.32"].worst_error < 0.05
    assert fits["neg.8"].worst_error < 0.05
    assert 0 < fits["lookup_bytes"].median_error < 0.1


def _timings(*stems: str) -> list[measuring.Timing]:
    return list(measuring.timings(SIRACUSA, [case for case in cases("siracusa") if case.kernel.stem in stems]))
