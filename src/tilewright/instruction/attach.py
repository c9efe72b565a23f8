"""A target with instructions of a user's own: on its simulated cores, for its compiler, in its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.instruction.declaration import Instruction, read_instruction
from tilewright.instruction.header import HEADER, header
from tilewright.instruction.semantics import check_semantics, simulated
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings, check_options
from tilewright.target.target import Engine, Target
from tilewright.toolchain.generated import generated


def with_instructions(target: Target, places: Sequence[str]) -> Target:
    """The target with the instruction of each folder."""
    check_options(target, Settings(instructions=tuple(places)))
    return with_declared(target, [read_instruction(place) for place in places])


def with_declared(target: Target, found: Sequence[Instruction]) -> Target:
    for one in found:
        check_semantics(one)
    _check_collisions(target, found)
    made = generated(((f"kernels/{HEADER}", header(found)),), "instructions")
    platform = replace(target.platform, instructions=tuple(simulated(one) for one in found))
    patterns = frozenset(one.implements for one in found)
    engines = tuple(_with_patterns(engine, patterns) for engine in target.engines)
    return replace(target.on_platform(platform, 0), bases=(made, *target.bases), engines=engines)


def _with_patterns(engine: Engine, patterns: frozenset[str]) -> Engine:
    """With the kernels that are made for them first."""
    return engine.extended(engine, patterns) if engine.extended else engine


def _check_collisions(target: Target, found: Sequence[Instruction]) -> None:
    """No word is two instructions. What a core has beyond an instruction set that the target names is not used."""
    names: dict[str, str] = {}
    for number, one in enumerate(found):
        for other in found[:number]:
            if not (one.match ^ other.match) & one.mask & other.mask:
                raise _collision(one, f"instruction {other.name} ({other.place})")
            if one.implements and one.implements == other.implements:
                what = f"{other.name} implements {one.implements} too"
                raise CompileError(f"{one.place}, implements", what, "leave it out in one of them")
        if names.setdefault(one.name, one.place) != one.place:
            raise CompileError(f"{one.place}, name", f"{names[one.name]} has the same", "rename one of them")
    if target.agents.isa:
        return
    with Simulator(replace(target.platform, instructions=())) as simulator:
        for one in found:
            if own := simulator.own_instruction(one.mask, one.match):
                raise _collision(one, f"{own.replace('_', '.')} of {target.name}'s cores")


def _collision(one: Instruction, other: str) -> CompileError:
    what = f"{one.opcode} with funct3 {one.funct3} and funct7 {one.funct7} is also {other}"
    return CompileError(f"{one.place}, opcode", what, "choose another funct3, funct7 or custom opcode")
