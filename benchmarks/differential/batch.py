"""Networks of one family as one program on one target: drawn, judged, and what is wrong made smaller."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.differential.drawing import draw
from benchmarks.differential.judge import WRONG, Place, Verdict, verdicts
from benchmarks.differential.machines import Machine
from benchmarks.differential.regression import write
from benchmarks.differential.shrink import Small, smallest
from onnx import printer

STRIDE = 64
"""Seeds of a batch begin at a multiple of it; settings and what is watched depend on that."""
WATCHED_ONE_IN = 4


@dataclass(frozen=True)
class Batch:
    """Networks of one family that are one program."""

    family: str
    machine: Machine
    seeds: tuple[int, ...]

    @property
    def place(self) -> Place:
        number = self.seeds[0] // STRIDE
        return Place(self.machine.target, self.machine.settings(number), number % WATCHED_ONE_IN == 0)


@dataclass(frozen=True)
class Judged:
    batch: Batch
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    """What is wrong, with its test."""


def batches(first: int, runs: int, names: Sequence[str], known: Sequence[Machine]) -> Iterator[Batch]:
    """Seeds from the first on; family and machine of a batch by chance."""
    seed, left = first, runs
    while left > 0:
        number = seed // STRIDE
        chance = random.Random(number)
        machine = chance.choices(known, [one.share / one.together for one in known])[0]
        count = min(left, machine.together, (number + 1) * STRIDE - seed)
        yield Batch(chance.choice(machine.suited(names)), machine, tuple(range(seed, seed + count)))
        seed, left = (number + 1) * STRIDE, left - count


def judged(batch: Batch) -> Judged:
    drawn = [draw(batch.family, seed, batch.machine.room) for seed in batch.seeds]
    found = verdicts([case for case, _ in drawn], batch.place)
    notes = [
        _note(batch, seed, Small(case, tuple(choices)), verdict)
        for seed, (case, choices), verdict in zip(batch.seeds, drawn, found, strict=True)
        if verdict.status == WRONG
    ]
    return Judged(batch, tuple(found), tuple(notes))


def _note(batch: Batch, seed: int, found: Small, verdict: Verdict) -> str:
    def is_wrong(case: object) -> bool:
        return verdicts([case], batch.place)[0].status == WRONG  # type: ignore[list-item]

    small = smallest(batch.family, batch.machine.room, found, is_wrong)
    reason = verdicts([small.case], batch.place)[0].reason
    path = write(small.case, batch.family, seed, batch.place)
    text = printer.to_text(small.case.proto) if small.case.suffix == ".onnx" else f"{len(small.case.model)} bytes"
    again = f"--family {batch.family} --target {batch.machine.name} --seed {seed} --runs 1"
    return f"WRONG {again}\n{verdict.reason}\nsmallest: {reason}\n{text}\n{path}"
