"""Programs of Linux on another kind of processor: QEMU's user mode runs them as processes of this machine."""

from __future__ import annotations

import os
import platform
import shutil

from tilewright.emulator.qemu_process import version_of
from tilewright.errors import CompileError

INSTALL = "apt install qemu-user, or compile it, and run it there"
CHOSEN = "QEMU_CPU"
"""QEMU's own variable: another processor than the one that code is for, such as `rv64,v=true,vlen=1024`."""


def emulator_of(machine: str, vector_bits: int) -> tuple[str, ...]:
    """What is put before a program; `vector_bits` are those of a register, or 0 where there are no vectors."""
    found = shutil.which(f"qemu-{machine}")
    if platform.system() != "Linux" or found is None:
        raise CompileError(
            f"qemu-{machine}", f"is not installed: it runs programs for {machine} on this machine", INSTALL
        )
    version_of(found, INSTALL)
    if os.environ.get(CHOSEN):
        return (found,)
    return (found, "-cpu", qemu_cpu(vector_bits))


def qemu_cpu(vector_bits: int) -> str:
    """A processor of RISC-V as QEMU calls it."""
    return f"rv64,v=true,vext_spec=v1.0,vlen={vector_bits}" if vector_bits else "rv64"
