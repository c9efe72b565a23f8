"""What a run tells: its report."""

from __future__ import annotations

from dataclasses import asdict

from tilewright.records import dataclass
from tilewright.sim.energy import Energy


@dataclass(frozen=True)
class CoreReport:
    name: str
    hart: int
    cycles: int
    instructions: int
    stalls: dict[str, int]
    """Cycles by cause; together with the instructions they make up the cycles."""

    @property
    def ipc(self) -> float:
        return self.instructions / self.cycles if self.cycles else 0.0


@dataclass(frozen=True)
class Report:
    cycles: int
    exit_code: int | None
    stdout: str
    cores: tuple[CoreReport, ...]
    core_bytes: dict[str, int]
    """Bytes that cores read and wrote, by memory."""
    device_bytes: dict[str, tuple[int, int]]
    """Bytes that devices read and wrote on the far side, by memory."""
    busy: dict[str, int]
    """Cycles at work, by device."""
    energy: Energy | None = None
    """Of the whole run, if the platform has a model of it."""

    @property
    def instructions(self) -> int:
        return sum(core.instructions for core in self.cores)

    def as_dict(self) -> dict[str, object]:
        return {
            "stdout": self.stdout,
            "exit_code": self.exit_code,
            "cycles": self.cycles,
            "instructions": self.instructions,
            "cores": [asdict(core) for core in self.cores],
            "core_bytes": self.core_bytes,
            "device_bytes": self.device_bytes,
            "busy": self.busy,
            **({"energy": self.energy.as_dict()} if self.energy else {}),
        }
