"""What a board's program takes of its memories: as linked, and its stack as it was used."""

from __future__ import annotations

from tilewright.emulator.faults import stack_overrun
from tilewright.emulator.stack import STACK, stack_of
from tilewright.errors import CompileError, present
from tilewright.records import dataclass
from tilewright.sim.platform import Platform
from tilewright.sim.program.elf import Elf, allocated_ranges, code_bytes
from tilewright.sim.simulator import Simulator
from tilewright.target.runner import Machine

PAINT = b"\xa5"


@dataclass(frozen=True)
class Footprint:
    ram_bytes: int
    """Of all that changes: arena, inputs and outputs, variables, and the stack as far as it was used."""
    flash_bytes: int
    """Of all that does not: constants, code, first values of variables."""
    stack_bytes: int
    """The deepest that the stack has been."""
    code_bytes: int

    def as_dict(self) -> dict[str, int]:
        return {
            "measured_ram_bytes": self.ram_bytes, "measured_flash_bytes": self.flash_bytes,
            "stack_bytes": self.stack_bytes, "code_bytes": self.code_bytes,
        }  # fmt: skip


def paint_stack(machine: Machine) -> None:
    """Before a run: bytes that are still there afterwards were never used."""
    start, end = _stack(_elf(machine))
    machine.write(start, PAINT * (end - start))


def footprint(machine: Machine) -> Footprint:
    """After a run of a painted program."""
    elf = _elf(machine)
    start, end = _stack(elf)
    kept = machine.read(start, end - start)
    used = len(kept.lstrip(PAINT))
    if used == len(kept):
        raise stack_overrun("run", len(kept))
    ram = _ram_bytes(elf, machine.platform) - len(kept) + used
    return Footprint(ram, _flash_bytes(elf, machine.platform), used, code_bytes(elf))


def overrun(machine: Machine, error: CompileError) -> CompileError | None:
    """Where what has stopped a program on the virtual SoC is that its stack has ended."""
    if not isinstance(machine, Simulator) or machine.elf is None or STACK[0] not in machine.elf.symbols:
        return None
    start, end = _stack(machine.elf)
    return stack_overrun(error.where, end - start) if machine.register(0, "sp") < start else None


def _elf(machine: Machine) -> Elf:
    return present(machine.elf, "run", "there is no program")


def _stack(elf: Elf) -> tuple[int, int]:
    return present(stack_of(elf), "run", f"the board's start-up has no {' and '.join(STACK)}")


def _ram_bytes(elf: Elf, platform: Platform) -> int:
    return sum(end - start for start, end in allocated_ranges(elf) if not platform.is_flash(start))


def _flash_bytes(elf: Elf, platform: Platform) -> int:
    return sum(len(segment.data) for segment in elf.segments if platform.is_flash(segment.load_address))
