"""Samples reach the target's kernels, and fitted costs tell what is measured."""

from __future__ import annotations

from tilewright import targets
from tilewright.calibration import measuring
from tilewright.target.cost_model import kernel_key

SIRACUSA = targets.find("siracusa")


def test_every_operator_and_every_kernel_of_the_target_has_samples() -> None:
    """Of the kernels that it shares with others, those that its own ones leave something to; an accelerator's cycles
    are computed."""
    cases = measuring.cases(SIRACUSA, measuring.samples(SIRACUSA))
    kernels = [kernel for engine in SIRACUSA.engines for kernel in engine.kernels if not kernel.offloaded]
    assert {kernel.op for kernel in kernels} == {type(case.op) for case in cases}
    own = {kernel.stem for kernel in kernels if (SIRACUSA.folder / "kernels" / kernel.source).is_file()}
    assert own <= {case.kernel.stem for case in cases}


def test_costs_of_the_target_are_of_its_kernels() -> None:
    """Whoever adds a kernel or changes its features runs `tilewright calibrate siracusa`."""
    costs = SIRACUSA.costs.kernels
    for case in measuring.cases(SIRACUSA, measuring.samples(SIRACUSA)):
        known = costs.get(kernel_key(case.kernel, case.types)) or costs.get(case.kernel.stem, ())
        assert len(known) == len(measuring.case_features(case, 8)), case.kernel.stem


def test_fits_tell_what_was_measured() -> None:
    found = _timings("lookup_bytes", "neg")
    fits = {fit.key: fit for fit in measuring.fits(found)}
    assert fits["neg.32"].worst_error < 0.05
    assert fits["neg.8"].worst_error < 0.05
    assert 0 < fits["lookup_bytes"].median_error < 0.1


def _timings(*stems: str) -> list[measuring.Timing]:
    cases = measuring.cases(SIRACUSA, measuring.samples(SIRACUSA))
    return list(measuring.timings(SIRACUSA, [case for case in cases if case.kernel.stem in stems]))
