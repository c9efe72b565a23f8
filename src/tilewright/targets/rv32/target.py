"""RISC-V microcontrollers: one core, flash for code and constants, RAM for all else; on the virtual SoC."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.sim.platform import Platform
from tilewright.sim.platforms.microcontroller import MICROCONTROLLER
from tilewright.target.agents import Agents
from tilewright.target.costs import Costs
from tilewright.target.isa import compiler_flag, extensions, has_float
from tilewright.target.memory import FLASH_USES, RAM_USES, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import COSTS_OF_A_FAMILY, Engine, Target
from tilewright.targets.generic import target as generic
from tilewright.targets.microcontroller import blocks, dots, elementwise, linear
from tilewright.targets.rv32.cores import CORES, Core

FOLDER = Path(__file__).parent
KIB = 1024
CODE = 96 * KIB
"""What programs need of flash, about; the linker refuses what does not fit."""

KERNELS = (*linear.KERNELS, *elementwise.KERNELS, *elementwise.PLAIN, *blocks.KERNELS, *generic.KERNELS)

PEAK = Peak(
    CoreMacs(((8, 2), (16, 1)), floats=1),
    "RV32IMC: a product of 32 bits in a cycle, which has room for two of bytes; a word of memory in a cycle",
    bytes=4,
)  # fmt: skip


def _platform(core: Core) -> Platform:
    """The chip of all of them, with this core."""
    name = MICROCONTROLLER.name if core.timing is None else core.name
    groups = tuple(
        replace(group, has_float=has_float(core.isa), extensions=extensions(core.isa), timing=core.timing)
        for group in MICROCONTROLLER.groups
    )
    return replace(MICROCONTROLLER, name=name, groups=groups)


def _costs(core: Core) -> Costs:
    path = FOLDER / COSTS_OF_A_FAMILY / f"{core.name}.json"
    return Costs.read(path) if path.is_file() else Costs()


def _target(core: Core) -> Target:
    return Target(
        name=core.name,
        summary=f"{core.summary}, 512 KiB of RAM, 4 MiB of flash; on the virtual SoC",
        engines=(Engine("cpu", KERNELS, forms=linear.forms, peak=PEAK, extended=dots.extended),),
        memories=(
            Memory("RAM", MICROCONTROLLER.memory("ram").size, 16, ".ram", reserved=KIB, holds=RAM_USES),
            Memory("flash", MICROCONTROLLER.memory("flash").size, 16, ".flash", reserved=CODE, holds=FLASH_USES),
        ),
        passes=(CHANNELS_SECOND, SHORTEN_CONSTANTS),
        folder=FOLDER,
        bases=(FOLDER.parent / "microcontroller", FOLDER.parent / "bare", generic.TARGET.folder),
        flags=(
            "-target", "riscv32-freestanding", compiler_flag(core.isa), "-O2", "-g0", "-fomit-frame-pointer",
            "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
        ),
        costs=_costs(core),
        agents=Agents(stack=8 * KIB, isa=core.isa),
        runner=VirtualSoc(_platform(core), clock_mhz=100.0),
    )  # fmt: skip


TARGETS = {core.name: _target(core) for core in CORES}
TARGET = TARGETS["rv32"]
