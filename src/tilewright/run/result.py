"""What a run of a network gave, and how that compares with what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.run.as_imported import AsImported
from tilewright.run.compare import Agreement
from tilewright.run.footprint import Footprint
from tilewright.run.simulated import SocRun
from tilewright.sim.energy import Energy


@dataclass(frozen=True)
class OnComputer:
    """What a network takes of this machine."""

    fastest_seconds: float
    threads: int
    resident_bytes: int
    """Of the program at most, with inputs and outputs and what the system's library takes."""
    library_bytes: int | None = None
    """Of the shared library with the network and its constants, where the target has one."""

    def as_dict(self) -> dict[str, Any]:
        library = {} if self.library_bytes is None else {"library_bytes": self.library_bytes}
        return {
            "fastest_seconds": self.fastest_seconds, "threads": self.threads, "resident_bytes": self.resident_bytes,
            **library,
        }  # fmt: skip


@dataclass(frozen=True)
class Result:
    outputs: dict[str, Array]
    """By their names in the model, in its order; `result[0]` is the first."""
    seconds: float
    """One run of the network: the middle one of the repeats."""
    layers: dict[str, Array]
    """Every tensor that a layer made, if asked for."""
    cycles: int | None = None
    """On a simulated target: from the call of the network to its return."""
    energy: Energy | None = None
    """Of the same time, where the target's virtual SoC has a model of it."""
    instructions: int | None = None
    """On a board, whose one core executes them: of the same time."""
    clock_mhz: float | None = None
    """Of a board."""
    footprint: Footprint | None = None
    """Of a board: what its program takes of the memories."""
    step_cycles: tuple[int, ...] = ()
    """Of calls in order: those of each; `cycles` and `energy` are of the last one then."""
    steps: int | None = None
    """How many calls were made in order; outputs have an axis of this length in front."""
    here: OnComputer | None = None
    """Of a network that ran on this machine."""
    soc: SocRun | None = None
    """All that the virtual SoC has counted; of calls in order, in the last one."""

    @property
    def milliseconds(self) -> float | None:
        """Cycles of a board as time."""
        return None if self.cycles is None or self.clock_mhz is None else self.cycles / self.clock_mhz / 1000

    def on_board(self) -> dict[str, Any]:
        """What only boards have."""
        if self.instructions is None:
            return {}
        counts = {} if self.soc is None else self.soc.activity.counts
        return {
            "instructions": self.instructions, "clock_mhz": self.clock_mhz, "milliseconds": self.milliseconds,
            **({"cycles_at_most": counts["most"]} if counts.get("most", self.cycles) != self.cycles else {}),
            **({"wait_cycles": counts["waits"]} if counts.get("waits") else {}),
            **({"estimate": self.soc.estimate} if self.soc is not None and self.soc.estimate else {}),
            **({} if self.footprint is None else self.footprint.as_dict()),
        }  # fmt: skip

    def __getitem__(self, wanted: int | str) -> Array:
        """An output by its place or its name."""
        return self.outputs[wanted] if isinstance(wanted, str) else list(self.outputs.values())[wanted]


@dataclass(frozen=True)
class Check:
    """What a run gave, and how it compares with what was expected."""

    result: Result
    outputs: tuple[Agreement, ...]
    layers: tuple[Agreement, ...]
    """Every tensor that a layer made, in order, if asked for."""
    memory: Mapping[str, int]
    compile_seconds: float
    build_seconds: float
    imported: AsImported | None = None
    """The same outputs, and the reference, held to the model as imported; None where others say what is right."""

    @property
    def least(self) -> int:
        """Cycles that no run can be below; 0 where that is not known."""
        return self.memory.get("least_cycles", 0)

    @property
    def agrees(self) -> bool:
        return self.first_difference is None

    @property
    def first_difference(self) -> Agreement | None:
        own = next((found for found in (*self.layers, *self.outputs) if not found.agrees), None)
        return own if own is not None or self.imported is None else self.imported.first_difference

    def at(self, said: str) -> Check:
        """With the sizes that it is of beside every name."""
        outputs = tuple(replace(one, name=f"{one.name} ({said})") for one in self.outputs)
        return replace(self, outputs=outputs)

    def as_dict(self) -> dict[str, Any]:
        first = self.first_difference
        return {
            "status": "agree" if self.agrees else "disagree",
            "outputs": [found.as_dict() for found in self.outputs],
            **({"layers": [found.as_dict() for found in self.layers]} if self.layers else {}),
            **({"first_difference": first.name} if first is not None else {}),
            **({} if self.imported is None else {"imported": self.imported.as_dict()}),
            **({} if self.result.steps is None else {"steps": self.result.steps}),
            **({"step_cycles": list(self.result.step_cycles)} if self.result.step_cycles else {}),
            **self.memory, **({} if self.result.cycles is None else {"cycles": self.result.cycles}),
            **self.result.on_board(), **({} if self.result.here is None else self.result.here.as_dict()),
            **({} if self.result.energy is None else {"energy": self.result.energy.as_dict()}),
            "run_seconds": self.result.seconds, "compile_seconds": self.compile_seconds,
            "build_seconds": self.build_seconds,
        }  # fmt: skip


def joined_checks(checks: Sequence[Check]) -> Check:
    """Checks of one program at several sizes as one, with the times of the last; the first that differs speaks."""
    shown = next((one for one in checks if not one.agrees), checks[-1])
    outputs = tuple(found for one in checks for found in one.outputs)
    return replace(shown, outputs=outputs, build_seconds=sum(one.build_seconds for one in checks))
