"""Accelerators of a user's own, declared in one folder: drivers, mapping and models follow (docs/accelerators.md)."""

from __future__ import annotations

from tilewright.accelerator.crossbars.declaration import Crossbar
from tilewright.accelerator.declaration import (
    Accelerator,
    Bus,
    Condition,
    Event,
    Packing,
    Pattern,
    Poll,
    Register,
    Rtl,
    Scratchpad,
    registers,
)
from tilewright.accelerator.device import AcceleratorDevice, Registers, requantised

__all__ = [
    "Accelerator",
    "AcceleratorDevice",
    "Bus",
    "Condition",
    "Crossbar",
    "Event",
    "Packing",
    "Pattern",
    "Poll",
    "Register",
    "Registers",
    "Rtl",
    "Scratchpad",
    "registers",
    "requantised",
]
