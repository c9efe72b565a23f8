"""Arm Cortex-M microcontrollers: one core, flash for code and constants, RAM for all else; in an emulator."""

from __future__ import annotations

from pathlib import Path

from tilewright.passes import Pass
from tilewright.passes.layout.channels_second import BLOCKED, CHANNELS_SECOND, channels_second
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.sim.platform import Flavour, Group, Platform
from tilewright.sim.platform import Memory as Place
from tilewright.target.agents import Agents
from tilewright.target.board import in_qemu
from tilewright.target.costs import Costs
from tilewright.target.memory import FLASH_USES, RAM_USES, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import UNICORN, VirtualSoc
from tilewright.target.target import COSTS_OF_A_FAMILY, Engine, Target
from tilewright.targets.cortex_m import byte_rows, paired_linear, vector_elements, vector_offers, vectors
from tilewright.targets.cortex_m.cores import CORES, PAIRS, PLAIN, VECTORS, Core
from tilewright.targets.cortex_m.paired import WIDE
from tilewright.targets.cortex_m.read_images_last import READ_IMAGES_LAST
from tilewright.targets.generic import target as generic
from tilewright.targets.microcontroller import blocks, elementwise, linear

FOLDER = Path(__file__).parent
KIB = 1024
FLASH, RAM = 2048 * KIB, 512 * KIB
CODE = 24 * KIB
"""What programs of networks in integers need of flash, about; the linker refuses what does not fit."""

KERNELS = {
    PLAIN: (*linear.KERNELS, *elementwise.KERNELS, *elementwise.PLAIN, *blocks.KERNELS, *generic.KERNELS),
    PAIRS: (
        *paired_linear.KERNELS,
        *byte_rows.KERNELS,
        *elementwise.WITHOUT_VECTORS,
        *elementwise.KERNELS,
        *blocks.KERNELS,
        *generic.KERNELS,
    ),
    VECTORS: (
        *vectors.KERNELS,
        *vector_elements.KERNELS,
        *byte_rows.FROM_FLOATS,
        *elementwise.KERNELS,
        *generic.KERNELS,
    ),
}
"""By what cores have; the first that takes an operator is preferred."""
LAYOUTS: dict[str, tuple[Pass, ...]] = {
    PLAIN: (CHANNELS_SECOND,), PAIRS: (channels_second(BLOCKED | {WIDE}), READ_IMAGES_LAST), VECTORS: vectors.LAYOUTS,
}  # fmt: skip
FORMS = {PLAIN: linear.forms, PAIRS: paired_linear.forms, VECTORS: vector_offers.forms}
FOLDERS = {PAIRS: (FOLDER / "pairs",), VECTORS: (FOLDER / "mve",)}
"""Of kernels that other cores cannot compile."""
FLAGS = {VECTORS: ("-mllvm", "-enable-arm-maskedgatscat=false")}
"""LLVM 22 makes scatters with steps of 512 bytes out of loops, which the instruction cannot encode."""

PEAKS = {
    PLAIN: Peak(
        CoreMacs(((8, 2), (16, 1)), floats=1),
        "Armv6-M: a product of 32 bits in a cycle, which has room for two of bytes", bytes=4,
    ),
    PAIRS: Peak(
        CoreMacs(((8, 4), (16, 2), (32, 1)), floats=1),
        "DSP extension: two products of 16 bits in a cycle, or one of 64 bits, which has room for four of bytes",
        bytes=8,
    ),
    VECTORS: Peak(
        CoreMacs(((8, 8), (16, 4), (32, 2)), floats=2), "MVE: half a vector of 16 bytes in a cycle", bytes=8,
    ),
}  # fmt: skip
"""By what cores have; of those that issue two instructions at once, one multiplies."""


def _platform(core: Core) -> Platform:
    return Platform(
        core.name, f"{core.name}: {core.summary}; no wait states",
        groups=(Group(core.name, 1, flavour=Flavour.THUMB, has_float=core.has_float, boots=True),),
        memories=(Place("ram", 0x2000_0000, RAM), Place("flash", 0x0800_0000, FLASH, is_flash=True)),
    )  # fmt: skip


def _runner(core: Core) -> VirtualSoc:
    """In unicorn, or in QEMU where only that has the core."""
    runner = VirtualSoc(_platform(core), clock_mhz=100.0, emulator=UNICORN, library_flag=f"-mcpu={core.library}")
    return in_qemu(runner) if core.kernels == VECTORS else runner


def _costs(core: Core) -> Costs:
    """As they were measured; in QEMU nothing is."""
    path = FOLDER / COSTS_OF_A_FAMILY / f"{core.name}.json"
    return Costs.read(path) if path.is_file() else Costs()


def _target(core: Core) -> Target:
    abi = "eabihf" if core.has_float else "eabi"
    return Target(
        name=core.name,
        summary=f"Arm: {core.summary}; {RAM // KIB} KiB of RAM, {FLASH // KIB} KiB of flash; emulated",
        engines=(Engine("cpu", KERNELS[core.kernels], forms=FORMS[core.kernels], peak=PEAKS[core.kernels]),),
        memories=(
            Memory("RAM", RAM, 16, ".ram", reserved=KIB, holds=RAM_USES),
            Memory("flash", FLASH, 16, ".flash", reserved=CODE, holds=FLASH_USES),
        ),
        passes=(*LAYOUTS[core.kernels], SHORTEN_CONSTANTS),
        folder=FOLDER,
        bases=(
            *FOLDERS.get(core.kernels, ()), FOLDER.parent / "microcontroller", FOLDER.parent / "bare",
            generic.TARGET.folder,
        ),
        flags=(
            "-target", f"thumb-freestanding-{abi}", f"-mcpu={core.compiler}", "-O2", "-g0", "-fomit-frame-pointer",
            "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all", *FLAGS.get(core.kernels, ()),
        ),
        costs=_costs(core),
        agents=Agents(stack=8 * KIB, isa=core.name),
        runner=_runner(core),
    )  # fmt: skip


TARGETS = {core.name: _target(core) for core in CORES}
