"""A profile as a trace: layers, kernels and waits of every core, transfers of every channel, by the names of layers."""

from __future__ import annotations

from pathlib import Path

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.spans import spans, tracks
from tilewright.sim.watching.traces import Span, write_spans


def write_trace(path: Path, found: Profiled) -> None:
    profile = found.profile
    shown = [Span(one.track, one.name, one.start, one.end, one.details) for one in spans(found)]
    write_spans(path, f"{profile.network} on {profile.target}", tracks(found), shown)
