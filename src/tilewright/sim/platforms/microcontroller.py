"""A plain microcontroller: one core, flash for code and constants, RAM for all else; both answer in the next cycle.

It is nobody's chip. The core's timing is that of the CV32E40P (engine/timing.h), whose own instructions compilers do
not use unless they are told to; the same holds of bit manipulation and vectors of integers. Sizes are chosen: what
parts of this kind have.
"""

from __future__ import annotations

from tilewright.sim.platform import EXTENSIONS, Device, Flavour, Group, Kind, Memory, Platform

FLASH, RAM = 0x40_0000, 0x8_0000
CORE = "core"

MICROCONTROLLER = Platform(
    name="microcontroller",
    summary="one core without FPU, 4 MiB of flash, 512 KiB of RAM, no wait states",
    groups=(
        Group(
            CORE,
            1,
            flavour=Flavour.COREV,
            has_float=False,
            boots=True,
            local_memory="ram",
            extensions=frozenset(EXTENSIONS),
        ),
    ),
    memories=(
        Memory("ram", 0x8000_0000, RAM, banks=16),
        Memory("flash", 0x2000_0000, FLASH, banks=1, is_flash=True),
    ),
    devices=(
        Device("soc control", Kind.SOC_CONTROL, 0x1A10_4000, 0x1000),
        Device("stdout", Kind.CONSOLE, 0x1A10_F000, 0x1000),
    ),
)
