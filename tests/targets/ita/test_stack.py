"""The stack of the core that drives ITA: transfers begin while a kernel waits for room, beyond its own frames."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.targets.ita.transformers import Net
from tilewright import targets
from tilewright.program import Program, compile_model
from tilewright.run.soc import SocProgram
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings

PAINT = 0xA5
CALLERS = ("tw_serve", "all_layers", "dma_core", "layer_0_dma_core", "tw_submit_meanwhile", "layer_0_run")
HOOK = ("tw_accelerator_room", "meanwhile", "begin", "layer_0_load")


def product() -> Program:
    """With more jobs for a tile than wait at once, and several tiles."""
    net = Net((1, 256, 512))
    settings = Settings(engines=("all",), numerics="hardware", time_limit=1.0)
    return compile_model(net.model(net.linear(net.x, "y", 512, 256)), target="snitch", settings=settings)


def frames(assembly: str) -> dict[str, int]:
    found, name = dict[str, int](), ""
    for line in assembly.splitlines():
        if label := re.match(r"([A-Za-z_]\w*):", line):
            name = label[1]
            found[name] = 0
        elif grown := re.match(r"\s+addi\s+sp, sp, -(\d+)", line):
            found[name] += int(grown[1])
    return found


@pytest.mark.in_turns(3)
def test_there_is_room_for_what_begins_meanwhile() -> None:
    program = product().build_soc()
    known: dict[str, int] = {}
    for path in (*program.folder.glob("runtime/*.c"), *program.folder.glob("*.c")):
        flags = [
            *program.target.flags,
            "-DTW_CORES=8",
            "-I",
            "runtime/libc",
            "-S",
            str(path.relative_to(program.folder)),
        ]
        program.compiler.run([*flags, "-o", "out.s"], program.folder)
        known |= frames(Path(program.folder, "out.s").read_text())
    assert {
        "tw_submit_meanwhile",
        "meanwhile",
        "tw_accelerator_room",
        "layer_0_load",
        "layer_0_dma_core",
    } <= known.keys()
    agents = targets.find("snitch").agents
    assert sum(known.get(name, 0) for name in (*CALLERS, *HOOK)) <= agents.stack + agents.waiting_stack


@pytest.mark.in_turns(3)
def test_the_painted_stack_is_not_used_up() -> None:
    program = product()
    soc = program.build_soc()
    assert isinstance(soc, SocProgram)
    stacks, cores = soc.writer.schedule.stacks, soc.writer.schedule.cores
    with Simulator("snitch") as simulator:
        simulator.load(read_elf(soc.build(program.random_inputs())))
        simulator.write("tw_stacks", bytes([PAINT]) * (stacks.each * cores + stacks.dma_core))
        simulator.run(10_000_000)
        own = simulator.read("tw_stacks", stacks.each * cores + stacks.dma_core)[stacks.each * cores :]
    left = next(position for position, byte in enumerate(own) if byte != PAINT)
    agents = targets.find("snitch").agents
    assert agents.waiting_stack <= left < stacks.dma_core
