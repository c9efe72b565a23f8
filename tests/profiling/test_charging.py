"""Work in flight belongs to the layer whose work it is."""

from __future__ import annotations

import pytest

from tests.profiling.test_offload import profiled
from tilewright.profiling.charging import Charged, charged
from tilewright.profiling.profile import Interval
from tilewright.profiling.timeline import JobInterval


@pytest.mark.fast
def test_waiting_for_another_layers_job_belongs_to_that_layer() -> None:
    """Layer 0 is submitted until 10 and computed until 60; cores compute layer 1 from 30 to 50, and wait before and
    after."""
    times = [Interval(0, 10), Interval(10, 100)]
    found = charged(times, [(0, Interval(0, 10)), (1, Interval(30, 50))], [JobInterval(0, 0, Interval(5, 60))])
    assert found == [Charged(10 + 20 + 10, 60), Charged(20 + 40, 60)]


@pytest.mark.fast
def test_a_call_is_charged_whole() -> None:
    times = [Interval(0, 7), Interval(7, 7), Interval(7, 40)]
    jobs = [JobInterval(0, 0, Interval(3, 12)), JobInterval(1, 0, Interval(12, 90))]
    found = charged(times, [], jobs)
    assert sum(one.cycles for one in found) == 40
    assert [one.cycles for one in found] == [12, 28, 0]


@pytest.mark.in_turns(3)
def test_no_layer_is_quicker_than_its_engine() -> None:
    """A layer whose jobs run beside the next one was said to do 5,094 MACs in a cycle."""
    program, found = profiled()
    profile, schedule = found.profile, program.compiled.schedule
    assert sum(layer.cycles for layer in profile.layers) == profile.cycles
    peaks = {engine.name: engine.peak for engine in schedule.target.engines}
    assert any(layer.elapsed > layer.cycles for layer in profile.layers)
    for layer, scheduled in zip(profile.layers, schedule.layers, strict=True):
        peak, node = peaks[layer.engine], scheduled.node
        if layer.macs and peak is not None:
            types = schedule.graph.all_types(node)
            assert layer.macs_per_cycle <= peak.macs(node.op, types, profile.cores)
