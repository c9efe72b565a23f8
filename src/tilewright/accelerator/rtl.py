"""What the harness of a device in Verilog knows of its declaration."""

from __future__ import annotations

from tilewright.accelerator.declaration import Accelerator, Event


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
