"""What a device in Verilog and its harness know of the declaration."""

from __future__ import annotations

from tilewright.accelerator.declaration import MADE, Accelerator, Event


def rtl_header(accelerator: Accelerator) -> str:
    """Macros for rtl_device.cpp."""
    letters = {"r": "r", "w": "w"}
    rows = (f"{{{one.offset}, '{letters.get(one.access, 'b')}', \"{one.name}\"}}" for one in accelerator.registers)
    done = accelerator.done
    return f"""\
#define TW_REGISTERS {{{", ".join(rows)}}}
#define TW_DONE {accelerator.register(done.register).offset}
#define TW_DONE_BITS {done.bits}u
#define TW_EVENT_LINE {done.line if isinstance(done, Event) else -1}
#define TW_DIVIDER {accelerator.rtl.clock_divider if accelerator.rtl else 1}
"""


def registers_file(accelerator: Accelerator) -> str:
    return f"{accelerator.name}_registers.vh"


def registers_in_verilog(accelerator: Accelerator) -> str:
    """The register map, to be included in a module."""
    rows = "".join(f"localparam REG_{one.name.upper()} = {one.offset};\n" for one in accelerator.registers)
    return f"// Registers of {accelerator.name}, in bytes. {MADE}\n{rows}"
