"""Which layer each cycle of a call belongs to. Layers in flight overlap: an accelerator computes one while cores
compute, or wait, in the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tilewright.profiling.profile import Interval
from tilewright.profiling.timeline import JobInterval
from tilewright.records import dataclass


@dataclass(frozen=True)
class Charged:
    cycles: int
    """That belong to the layer; all layers together have the whole call."""
    elapsed: int
    """In which it was at work, beside other layers too."""


def charged(
    times: Sequence[Interval], computing: Iterable[tuple[int, Interval]], jobs: Iterable[JobInterval]
) -> list[Charged]:
    """`times`: of each layer, from when cores begin it to when they begin the next one; `computing`: layers and when
    cores are in their kernels. Where cores do nothing for their layer, a cycle belongs to the oldest one in flight."""
    cycles, beside = Counter[int](), Counter[int]()
    at_work, in_flight, current = Counter[int](), Counter[int](), 0
    marks = [(time.start, 0, number, 0) for number, time in enumerate(times)]
    for layer, time in computing:
        marks += [(time.start, 1, layer, 1), (time.end, 1, layer, -1)]
    for job in jobs:
        marks += [(job.time.start, 2, job.layer, 1), (job.time.end, 2, job.layer, -1)]
    end, before = times[-1].end, times[0].start
    for cycle, kind, layer, step in sorted([*marks, (end, 0, len(times), 0)]):
        until = min(max(cycle, before), end)
        flying = [one for one, count in in_flight.items() if count > 0]
        owner = current if at_work[current] or in_flight[current] or not flying else min(flying)
        cycles[owner] += until - before
        for one in flying:
            beside[one] += (until - before) * (one != owner)
        before = until
        if kind == 0:
            current = layer
        else:
            (at_work if kind == 1 else in_flight)[layer] += step
    return [Charged(cycles[number], cycles[number] + beside[number]) for number in range(len(times))]
