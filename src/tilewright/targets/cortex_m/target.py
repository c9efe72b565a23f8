"""Arm Cortex-M microcontrollers: one core, flash for code and constants, RAM for all else; in an emulator."""

from __future__ import annotations

from pathlib import Path

from tilewright.passes import Pass
from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.sim.platform import Flavour, Group, Platform
from tilewright.sim.platform import Memory as Place
from tilewright.target.memory import Memory
from tilewright.target.target import Board, Engine, Target
from tilewright.targets.cortex_m import byte_rows, paired_linear
from tilewright.targets.cortex_m.cores import CORES, PAIRS, PLAIN, Core
from tilewright.targets.cortex_m.read_images_last import READ_IMAGES_LAST
from tilewright.targets.generic import target as generic
from tilewright.targets.microcontroller import elementwise, linear

FOLDER = Path(__file__).parent
KIB = 1024
FLASH, RAM = 2048 * KIB, 512 * KIB

KERNELS = {
    PLAIN: (*linear.KERNELS, *elementwise.KERNELS, *generic.KERNELS),
    PAIRS: (*paired_linear.KERNELS, *byte_rows.KERNELS, *elementwise.KERNELS, *generic.KERNELS),
}
"""By what cores have; the first that takes an operator is preferred."""
PASSES: dict[str, tuple[Pass, ...]] = {PLAIN: (), PAIRS: (READ_IMAGES_LAST,)}
FOLDERS: dict[str, tuple[Path, ...]] = {PLAIN: (), PAIRS: (FOLDER / "pairs",)}
FORMS = {PLAIN: linear.forms, PAIRS: paired_linear.forms}


def _platform(core: Core) -> Platform:
    return Platform(
        core.name, f"{core.name}: {core.summary}; no wait states",
        groups=(Group(core.name, 1, flavour=Flavour.THUMB, has_float=core.has_float, boots=True),),
        memories=(Place("ram", 0x2000_0000, RAM), Place("flash", 0x0800_0000, FLASH)),
    )  # fmt: skip


def _target(core: Core) -> Target:
    abi = "eabihf" if core.has_float else "eabi"
    return Target(
        name=core.name,
        summary=f"Arm: {core.summary}; {RAM // KIB} KiB of RAM, {FLASH // KIB} KiB of flash; emulated",
        engines=(Engine("cpu", KERNELS[core.kernels], forms=FORMS[core.kernels]),),
        memories=(
            Memory("RAM", RAM, 16, ".ram", reserved=KIB),
            Memory("flash", FLASH, 16, ".flash", reserved=96 * KIB),
        ),
        passes=(CHANNELS_SECOND, *PASSES[core.kernels], SHORTEN_CONSTANTS),
        folder=FOLDER,
        bases=(
            *FOLDERS[core.kernels],
            *(FOLDER.parent / name for name in ("microcontroller", "bare")),
            generic.TARGET.folder,
        ),
        flags=(
            "-target", f"thumb-freestanding-{abi}", f"-mcpu={core.compiler}", "-O2", "-g0", "-fomit-frame-pointer",
            "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
        ),
        board=Board(_platform(core), core.name, stack=8 * KIB),
    )  # fmt: skip


TARGETS = {core.name: _target(core) for core in CORES}
