"""Stacks that another compiler, or other flags, make deeper than was planned: never silently wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.support.models import residual
from tests.support.quantiser import quantise
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError, StackOverrun
from tilewright.profiling.measuring import profile_program
from tilewright.program import Program
from tilewright.run import soc
from tilewright.run.simulated import STACK_OVERRUN, come_to
from tilewright.run.soc import SocProgram
from tilewright.sim.program.frames import Frames, Function, _read, frames_of
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(8)

fast = pytest.mark.fast
UNOPTIMISED = (*soc.WARNINGS, "-O0")
MARK = (0x57AC4E4D).to_bytes(4, "little")
CLUSTERS = ("siracusa", "quad", "snitch", "minpool")


def words(*values: int) -> bytes:
    """Instructions of 4 or 2 bytes."""
    return b"".join(value.to_bytes(4 if value & 3 == 3 else 2, "little") for value in values)


@fast
def test_frames_are_read_from_instructions() -> None:
    code = words(
        0x7139,  # c.addi16sp sp, -64
        0xFD010113,  # addi sp, sp, -48
        0x1141,  # c.addi sp, -16
        0x6285,  # c.lui t0, 1
        0x40510133,  # sub sp, sp, t0
        0x00000097, 0x100080E7,  # auipc ra, 0; jalr ra, 256(ra)
        0x03010113,  # addi sp, sp, 48
    )  # fmt: skip
    found = _read(code, "f", 0x1000, 0x1000 + len(code))
    assert found.frame == 64 + 48 + 16 + 4096
    assert found.sites == {0x1002: 64, 0x1006: 48, 0x1008: 16, 0x100E: 4096}
    assert found.calls == {0x100E + 256}


@fast
def test_depth_is_along_the_deepest_calls() -> None:
    functions = [
        Function("f", 0, 16, {4, 8}),
        Function("g", 4, 100),
        Function("h", 8, 32, {4}),
        Function("r", 12, 1, {12}),
    ]
    frames = Frames({one.start: one for one in functions})
    assert [frames.depth(at) for at in (0, 4, 8)] == [148, 100, 132]
    with pytest.raises(CompileError, match="calls itself"):
        frames.depth(12)


def program_for(target: str, stack: int | None = None) -> Program:
    made = residual()
    shape = [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim]
    images = {"image": np.random.default_rng(0).normal(0, 1, shape).astype("float32")}
    return tw.compile(quantise(made, images), target=target, settings=Settings(stack=stack))


def with_less(program: Program, size: int, of: tuple[str, ...] = ("each", "dma_core")) -> SocProgram:
    """Its program with stacks of so many bytes, whatever was planned."""
    schedule = program.compiled.schedule
    less = replace(schedule.stacks, **dict.fromkeys(of, size))
    changed = replace(schedule, stacks=less)
    return SocProgram(Writer(changed, symbol_prefix(schedule.graph.name)), program.compiled.files, None)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", CLUSTERS)
def test_a_stack_that_is_too_small_stops_the_run(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the core, the place and the bytes."""
    program = program_for(target)
    monkeypatch.setattr(soc, "checked", lambda elf, *_: frames_of(elf))
    with pytest.raises(StackOverrun, match=r"needs \d+ bytes of stack, the core has 144") as caught:
        with_less(program, 144).run(program.random_inputs())
    assert " in " in caught.value.where
    assert caught.value.hint.startswith("give each core more: --stack ")


def test_a_stack_that_is_too_small_stops_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_for("quad")
    monkeypatch.setattr(soc, "checked", lambda elf, *_: frames_of(elf))
    with pytest.raises(StackOverrun, match=r"needs \d+ bytes of stack, the core has 144"):
        profile_program(with_less(program, 144), program.random_inputs(), "residual")


def test_a_kernel_that_submits_is_held_to_the_stack_of_who_calls_it() -> None:
    program = program_for("siracusa")
    with pytest.raises(CompileError, match=r"it needs \d+ bytes of stack with what calls it, 64 are planned") as caught:
        with_less(program, 64, ("dma_core",)).build(program.random_inputs())
    assert caught.value.where.startswith("kernel neureka")


@pytest.mark.one_in(2, first=1)
@pytest.mark.parametrize("target", CLUSTERS)
def test_a_kernel_that_needs_more_is_refused(target: str) -> None:
    program = program_for(target)
    with pytest.raises(CompileError, match=r"it needs \d+ bytes of stack with what calls it, 80 are planned") as caught:
        with_less(program, 80).build(program.random_inputs())
    assert caught.value.where.startswith("kernel ")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", ["snitch", "minpool"])
def test_without_optimisation_it_is_named(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the build where a kernel alone needs more, in the run where all callers together do."""
    monkeypatch.setattr(soc, "WARNINGS", UNOPTIMISED)
    program = program_for(target)
    with pytest.raises(CompileError, match=r"needs \d+ bytes of stack") as caught:
        program.run(program.random_inputs())
    assert "--stack" in caught.value.hint


def test_with_more_stack_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soc, "WARNINGS", UNOPTIMISED)
    program = program_for("snitch", 2048)
    assert program.check().agrees
    assert min(soc.sizes(program.compiled.schedule)) >= 2048


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", CLUSTERS)
def test_programs_of_folders_see_it_themselves(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a firmware is built: with marks, which a stack that was too small has overwritten."""
    monkeypatch.setattr(soc, "MARKS", ())
    program = program_for(target)
    elf = program.build_soc().build(program.random_inputs())
    assert [_exit_code(program, elf, overwrites) for overwrites in (False, True)] == [0, STACK_OVERRUN]


def _exit_code(program: Program, elf: Path, overwrites: bool) -> int | None:
    """Of a run in which something else lies where a mark was."""
    simulator = program.compiled.schedule.target.simulator()
    loaded = simulator.load(elf)
    come_to(simulator, next(name for name in loaded.symbols if name.endswith("_run") and not name.startswith("layer")))
    found = [memory.base + at for memory in simulator.platform.memories if memory.is_mapped and memory.size <= 1 << 23
             for at in _places(simulator.read(memory.base, memory.size), MARK)]  # fmt: skip
    if overwrites:
        simulator.write(found[len(found) // 2], b"\0\0\0\0")
    return simulator.run().exit_code


def _places(data: bytes, wanted: bytes) -> list[int]:
    """All that begin at words."""
    return [at for at in (found.start() for found in re.finditer(re.escape(wanted), data)) if at % 4 == 0]
