"""Which target? What a network takes on each target and board that is described, the fastest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from tilewright import pipeline, targets
from tilewright.analysis.costs import Analysis, analysis_of
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.planner.board.little_ram import or_with_less_ram
from tilewright.records import dataclass
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class Candidate:
    name: str
    """Of a target or a board."""
    milliseconds: float | None = None
    """Predicted; None where nothing tells how fast it is."""
    cycles: int | None = None
    planned_ram_bytes: int | None = None
    constant_bytes: int | None = None
    """Constants; the code comes on top."""
    refusal: str = ""
    """Why it does not hold the network."""

    @property
    def holds_it(self) -> bool:
        return not self.refusal

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def candidate_names() -> list[str]:
    """Every board with a known core, with an NPU too where that has to be asked for, and every target that is none of
    those cores."""
    boards = [name for name in targets.board_names() if targets.has_core(name)]
    asked = [one for one in targets.boards() if one.npus and not one.npu and one.name in boards]
    boards += [f"{one.name}{targets.PLUS}{npu}" for one in asked for npu in one.npus]
    cores = {board.cpu for board in targets.boards()}
    return [*boards, *(name for name in targets.names() if name not in cores)]


def ranked(
    graph: Graph, settings: Settings, names: Iterable[str], read: Callable[[str, str], Graph] | None = None
) -> list[Candidate]:
    """Those that hold the network, the fastest first; then those of unknown clock by their cycles, and those of unknown
    speed; then those that do not hold it. `read` gives the network as a target's own compiler makes it for a goal,
    where a target has one."""
    return sorted((_candidate(graph, settings, name, read) for name in names), key=_place)


def _place(one: Candidate) -> tuple[bool, bool, float, float]:
    unknown = float("inf")
    return (
        not one.holds_it, one.milliseconds is None, one.milliseconds if one.milliseconds is not None else 0.0,
        one.cycles if one.cycles is not None else unknown,
    )  # fmt: skip


def _candidate(graph: Graph, settings: Settings, name: str, read: Callable[[str, str], Graph] | None) -> Candidate:
    def planned(chosen: Settings, noted: Callable[[Graph], Graph]) -> Analysis:
        given = read(name, chosen.optimise) if read and targets.find(name).prepare else graph
        return analysis_of(pipeline.prediction(given, name, chosen))

    try:
        found = or_with_less_ram(name, settings, planned)
    except CompileError as error:
        return Candidate(name, refusal=f"{error.where}: {error.what}".splitlines()[0])
    if found.predicted_seconds is not None:
        return Candidate(name, found.predicted_seconds * 1e3, None, found.planned_ram_bytes, found.constant_bytes)
    clock = _clock(found, name)
    cycles = found.predicted_cycles or None
    milliseconds = None if clock is None or cycles is None else cycles / clock / 1000
    return Candidate(name, milliseconds, cycles, found.planned_ram_bytes, found.constant_bytes)


def _clock(found: Analysis, name: str) -> float | None:
    """In MHz, of a board or of a platform whose energy is known, which it is at a clock."""
    if found.clock_mhz is not None:
        return found.clock_mhz
    target = targets.find(name)
    energy = chip.energy if (chip := target.runner.chip) else None
    return None if energy is None else energy.hertz / 1e6
