"""Declared accelerators in profiles: when they were at work, and for which layer."""

from __future__ import annotations

import pytest

from tests.accelerator.folders import QVANILLA
from tests.accelerator.test_networks import branches, chain, program
from tilewright.profiling.profile import Interval
from tilewright.profiling.spans import BESIDE, JOB, spans, tracks
from tilewright.profiling.timeline import JobInterval, declared_jobs
from tilewright.sim.watching.probes import EngineJob


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_jobs_take_as_long_as_declared(target: str) -> None:
    """QVanilla's whole time is its MACs, one cycle each here; its layers last longer than that."""
    found = program(chain(), target, f"{QVANILLA}:cycles_per_mac=1").profile()
    own = {layer.number: layer for layer in found.profile.layers if layer.engine == "qvanilla"}
    assert own
    for number, layer in own.items():
        jobs = [job for job in found.timeline.jobs if job.layer == number]
        assert {job.device for job in jobs} == {"qvanilla"}
        assert sum(job.time.cycles for job in jobs) == pytest.approx(layer.macs, rel=0.01)
        assert layer.macs <= layer.cycles
    assert {job.layer for job in found.timeline.jobs} == own.keys()


@pytest.mark.in_turns(3)
def test_two_units_have_a_track_each() -> None:
    found = program(branches(), "rv32", QVANILLA, QVANILLA).profile()
    devices = {job.device for job in found.timeline.jobs}
    assert len(devices) == 2
    assert devices <= set(tracks(found).values())
    shown = [one for one in spans(found) if one.kind == JOB]
    assert {tracks(found)[one.track] for one in shown} == devices
    assert any(one.kind == BESIDE and one.track == 0 for one in spans(found))


@pytest.mark.fast
def test_a_job_is_of_the_layer_that_was_begun_last() -> None:
    begins = {"unit": [(0, 2), (100, 5)]}
    noted = [EngineJob("unit", *times) for times in ((1010, 1020), (1030, 1090), (1100, 1140))]
    noted += [EngineJob("unit", 990, 995), EngineJob("other", 1000, 1001)]
    found = declared_jobs(noted, begins, 1000)
    assert found == (
        JobInterval(2, 0, Interval(10, 20), "unit"),
        JobInterval(2, 1, Interval(30, 90), "unit"),
        JobInterval(5, 0, Interval(100, 140), "unit"),
    )  # fmt: skip
