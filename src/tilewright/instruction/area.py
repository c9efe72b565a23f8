"""The area of an instruction's Verilog."""

from __future__ import annotations

from tilewright.accelerator.area import find_yosys, gates_of_device
from tilewright.instruction.declaration import Instruction, read_instruction
from tilewright.sim.rtl.build import RtlDevice


def device_of(one: Instruction) -> RtlDevice | None:
    """Its Verilog, as it is synthesised."""
    return None if one.rtl is None else RtlDevice(one.name, (one.rtl,), one.top, "")


def area_of_instruction(place: str) -> float | None:
    """In gate equivalents; None where there is no Verilog or no yosys."""
    device = device_of(read_instruction(place))
    return None if device is None or find_yosys() is None else gates_of_device(device)
