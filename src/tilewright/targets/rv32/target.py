"""A plain RISC-V microcontroller: one core, flash for code and constants, RAM for all else; on the virtual SoC."""

from __future__ import annotations

from pathlib import Path

from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.sim.platforms.microcontroller import MICROCONTROLLER
from tilewright.target.agents import Agents
from tilewright.target.costs import Costs
from tilewright.target.isa import compiler_flag
from tilewright.target.memory import FLASH_USES, RAM_USES, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import Engine, Target
from tilewright.targets.generic import target as generic
from tilewright.targets.microcontroller import elementwise, linear

FOLDER = Path(__file__).parent
KIB = 1024
ISA = "rv32imc"

KERNELS = (*linear.KERNELS, *elementwise.KERNELS, *elementwise.PLAIN, *generic.KERNELS)

PEAK = Peak(
    CoreMacs(((8, 2), (16, 1)), floats=1),
    "RV32IMC: a product of 32 bits in a cycle, which has room for two of bytes; a word of memory in a cycle",
    bytes=4,
)  # fmt: skip

TARGET = Target(
    name="rv32",
    summary="a RISC-V microcontroller: one RV32IMC core, 512 KiB of RAM, 4 MiB of flash; on the virtual SoC",
    engines=(Engine("cpu", KERNELS, forms=linear.forms, peak=PEAK),),
    memories=(
        Memory("RAM", MICROCONTROLLER.memory("ram").size, 16, ".ram", reserved=KIB, holds=RAM_USES),
        Memory("flash", MICROCONTROLLER.memory("flash").size, 16, ".flash", reserved=96 * KIB, holds=FLASH_USES),
    ),
    passes=(CHANNELS_SECOND, SHORTEN_CONSTANTS),
    folder=FOLDER,
    bases=(FOLDER.parent / "microcontroller", FOLDER.parent / "bare", generic.TARGET.folder),
    flags=(
        "-target", "riscv32-freestanding", compiler_flag(ISA), "-O2", "-g0", "-fomit-frame-pointer",
        "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
    ),
    costs=Costs.read(FOLDER / "costs.json"),
    agents=Agents(stack=8 * KIB, isa=ISA),
    runner=VirtualSoc(MICROCONTROLLER, clock_mhz=100.0),
)  # fmt: skip
