"""A network before and after an instruction is added: instructions, cycles and energy, layer by layer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tilewright.accelerator.area import Area, area_of_device, find_yosys
from tilewright.instruction.area import device_of
from tilewright.instruction.declaration import Instruction, read_instruction
from tilewright.instruction.usage import occurrences
from tilewright.profiling.profile import Profile
from tilewright.program import Program, compile_model
from tilewright.records import dataclass
from tilewright.sim.program.elf import read_elf
from tilewright.target.settings import Settings, with_options


@dataclass(frozen=True)
class Counts:
    cycles: int = 0
    instructions: int | None = None
    """Of all cores; of a layer on a cluster nobody has counted them."""
    microjoules: float | None = None
    """None where the target's virtual SoC has no model of energy."""


@dataclass(frozen=True)
class Change:
    """Of a layer, or of all of them."""

    name: str
    before: Counts
    after: Counts
    number: int | None = None
    """Of the layer, as other tables have it; None of all of them."""

    @property
    def speedup(self) -> float | None:
        """None of a layer that only one of the two programs has: an instruction may change how layers are cut."""
        return self.before.cycles / self.after.cycles if self.before.cycles and self.after.cycles else None


@dataclass(frozen=True)
class Trial:
    target: str
    network: str
    instruction: Instruction
    layers: tuple[Change, ...]
    total: Change
    agrees: bool
    """With the reference."""
    places: int
    """Of the program, where the instruction stands."""
    area: Area | None

    def as_dict(self) -> dict[str, Any]:
        def change(one: Change) -> dict[str, Any]:
            number = {} if one.number is None else {"number": one.number}
            counts = {"before": vars(one.before), "after": vars(one.after)}
            return {**number, "name": one.name, **counts, "speedup": one.speedup}

        area = {} if self.area is None else {"gate_equivalents": self.area.gate_equivalents}
        return {
            "target": self.target, "network": self.network, "instruction": self.instruction.name,
            "agrees": self.agrees, "places": self.places, "total": change(self.total),
            "layers": [change(one) for one in self.layers], **area,
        }  # fmt: skip


def tried(place: str, model: Path, target: str, settings: Settings, **options: Any) -> Trial:
    """The network with and without the instruction, on the same random inputs."""
    one = read_instruction(place)
    extended = with_options(settings, {"instructions": [place]})
    plain = compile_model(model, target=target, settings=settings, **options)
    own = compile_model(model, target=target, settings=extended, **options)
    before, after = plain.profile().profile, own.profile().profile
    check, device = own.check(), device_of(one)
    area = None if device is None or find_yosys() is None else area_of_device(device)
    return Trial(
        target, before.network, one, _changes(before, after), _total(plain, own, before, after), check.agrees,
        _places(own, one), area,
    )  # fmt: skip


def _changes(before: Profile, after: Profile) -> tuple[Change, ...]:
    """Parts of a layer together: they may be cut in another way."""
    numbers: dict[str, int] = {}
    for layer in (*before.layers, *after.layers):
        numbers.setdefault(layer.shown, layer.number)
    return tuple(
        Change(name, _of_layer(before, name), _of_layer(after, name), number) for name, number in numbers.items()
    )


def _of_layer(profile: Profile, name: str) -> Counts:
    own = [layer for layer in profile.layers if layer.shown == name]
    counted = [layer.instructions for layer in own if layer.instructions is not None]
    energies = [layer.energy.microjoules for layer in own if layer.energy is not None]
    return Counts(
        sum(layer.cycles for layer in own), sum(counted) if counted else None, sum(energies) if energies else None
    )


def _total(plain: Program, own: Program, before: Profile, after: Profile) -> Change:
    def counts(program: Program, profile: Profile) -> Counts:
        soc = program.run(program.random_inputs()).soc if profile.instructions is None else None
        instructions = profile.instructions if soc is None else soc.instructions
        return Counts(profile.cycles, instructions, profile.energy.microjoules if profile.energy else None)

    return Change("all", counts(plain, before), counts(own, after))


def unused(program: Program, target: str) -> list[str]:
    """What is said of instructions that stand nowhere in the program."""
    found = [read_instruction(place) for place in program.settings.instructions]
    return [never_used(one, target) for one in found if not _places(program, one)]


def never_used(one: Instruction, target: str) -> str:
    if one.implements:
        return f"{one.name} is never used: no layer's kernel on {target} has the pattern {one.implements}"
    return f'{one.name} is never used: it has no line implements = "..." (docs/instructions.md)'


def verdict(found: Trial) -> str:
    """Where it stands in the program, and whether that is worth it."""
    one, before, after = found.instruction, found.total.before.cycles, found.total.after.cycles
    if not found.places:
        return never_used(one, found.target)
    places = "in one place" if found.places == 1 else f"in {found.places} places"
    stands = f"{one.name} stands {places} of the program"
    return stands if after < before else f"{stands} and gains nothing: {before:,} cycles without it, {after:,} with it"


def _places(program: Program, one: Instruction) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.elf"
        program.save_elf(path, program.random_inputs())
        return occurrences(read_elf(path), one.mask, one.match)
