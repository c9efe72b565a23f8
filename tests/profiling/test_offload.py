"""Profiles of networks with an NPU: its jobs, tile by tile, and the cores at work meanwhile."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path

import tilewright as tw
from tests.planner.networks import gates
from tilewright.profiling.measuring import Profiled
from tilewright.profiling.trace import write_trace
from tilewright.program import Program
from tilewright.target.settings import Settings


@cache
def profiled() -> tuple[Program, Profiled]:
    program = tw.compile(gates(), target="siracusa", settings=Settings(8))
    return program, program.profile()


def test_every_offloaded_tile_has_jobs_one_after_the_other() -> None:
    program, found = profiled()
    jobs = found.timeline.jobs
    tiles = [
        (n, t)
        for n, s in enumerate(program.plan.steps)
        if s.option.mode == "offload"
        for t in range(s.option.grid.tiles)
    ]
    assert list(dict.fromkeys((job.layer, job.tile) for job in jobs)) == tiles
    assert all(before.time.end <= after.time.start for before, after in itertools.pairwise(jobs))
    assert all(0 <= job.time.start < job.time.end <= found.profile.cycles for job in jobs)


def test_cores_compute_while_the_npu_does() -> None:
    program, found = profiled()
    own = {n for n, step in enumerate(program.plan.steps) if step.option.engine == "cluster"}
    kernels = [call.time for call in found.timeline.calls if call.kind == "run" and call.layer in own]
    assert any(
        job.time.start < kernel.end and kernel.start < job.time.end for job in found.timeline.jobs for kernel in kernels
    )


def test_the_trace_has_a_track_for_it(tmp_path: Path) -> None:
    _, found = profiled()
    write_trace(tmp_path / "trace.json", found)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    (track,) = [number for number, name in tracks.items() if name == "accelerator"]
    spans = [event for event in events if event["ph"] == "X" and event["tid"] == track]
    assert len(spans) == len(found.timeline.jobs)


def test_a_tile_takes_as_long_as_its_jobs() -> None:
    _, found = profiled()
    for layer in found.profile.layers:
        own = [job.time for job in found.timeline.jobs if job.layer == layer.number]
        if own and len(layer.tiles) == 1 and "finished" not in layer.kernel:
            assert layer.tiles[0].kernel.cycles == own[-1].end - own[0].start
