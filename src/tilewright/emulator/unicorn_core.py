"""A Cortex-M in the emulator Unicorn: its registers, its memories, and whom it calls when something goes wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tilewright.emulator.faults import Cause
from tilewright.errors import CompileError
from tilewright.sim.platform import PAGE, Platform

OLDEST_UNICORN = 2, 1
SYSTEM = 0xE000_0000
"""Where the core's own registers are."""
SYSTEM_BYTES = 0x10_0000
NOWHERE = 0xFFFF_FFF0
"""Where no code is."""
WATCHPOINTS, CYCLE_COUNTER = 0xE000_1000, 0x004
"""The unit of the core (DWT) that counts cycles, and where in it they are."""
CALL_EXCEPTION, BREAKPOINT_EXCEPTION = 2, 7
EXCEPTIONS = {
    1: Cause.UNDEFINED, 3: Cause.FETCH, 4: Cause.UNALIGNED, BREAKPOINT_EXCEPTION: Cause.BREAKPOINT, 17: Cause.NO_UNIT,
    18: Cause.STATE, 22: Cause.UNALIGNED,
}  # fmt: skip
"""As the emulator numbers them."""
MODELS = {
    "cortex-m0plus": "UC_CPU_ARM_CORTEX_M0", "cortex-m4": "UC_CPU_ARM_CORTEX_M4", "cortex-m7": "UC_CPU_ARM_CORTEX_M7",
    "cortex-m33": "UC_CPU_ARM_CORTEX_M33",
}  # fmt: skip


class UnicornCore:
    """`counter_read` is called where a program reads the unit that counts cycles."""

    def __init__(self, platform: Platform, counter_read: Callable[..., int]) -> None:
        self._unicorn, self._arm = _unicorn()
        self._platform = platform
        # Not UC_MODE_MCLASS, which takes a Cortex-M33 whatever the model is.
        self.engine = self._unicorn.Uc(self._unicorn.UC_ARCH_ARM, self._unicorn.UC_MODE_THUMB)
        self.engine.ctl_set_cpu_model(getattr(self._arm, MODELS[platform.groups[0].name]))
        self._map(counter_read)

    def _map(self, counter_read: Callable[..., int]) -> None:
        unicorn = self._unicorn
        for memory in self._platform.memories:
            kept = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
            rights = kept if memory.is_flash else unicorn.UC_PROT_ALL
            self.engine.mem_map(memory.base, -(-memory.size // PAGE) * PAGE, rights)
        changing = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
        self.engine.mem_map(SYSTEM, WATCHPOINTS - SYSTEM, changing)
        self.engine.mmio_map(WATCHPOINTS, PAGE, counter_read, None, _ignored, None)
        self.engine.mem_map(WATCHPOINTS + PAGE, SYSTEM + SYSTEM_BYTES - WATCHPOINTS - PAGE, changing)

    def add_hooks(
        self, exception: Callable[..., None], undefined: Callable[..., bool], invalid: Callable[..., bool],
        block: tuple[int, int | None],
    ) -> None:  # fmt: skip
        """`block` is a C function and what it is given: a call of Python for every block would take most of the
        time."""
        unicorn, (function, data) = self._unicorn, block
        self.engine.hook_add(unicorn.UC_HOOK_INTR, exception)
        self.engine.hook_add(unicorn.UC_HOOK_INSN_INVALID, undefined)
        self.engine.hook_add(unicorn.UC_HOOK_MEM_INVALID, invalid)
        self._library.uc_hook_add(
            self.engine._uch, ctypes.byref(ctypes.c_size_t()), ctypes.c_int(unicorn.UC_HOOK_BLOCK),
            ctypes.c_void_p(function), ctypes.c_void_p(data), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )  # fmt: skip

    @property
    def _library(self) -> Any:
        return self._unicorn.unicorn_py3.unicorn.uclib

    @property
    def stop_function(self) -> object:
        """In C."""
        return self._library.uc_emu_stop

    @property
    def error(self) -> type[Exception]:
        """What it raises."""
        return self._unicorn.UcError

    def start(self, address: int) -> None:
        """Not until some place: code that was translated while another one was meant runs past it."""
        self.engine.emu_start(address | 1, NOWHERE)

    def stop(self) -> None:
        self.engine.emu_stop()

    def cause_of(self, kind: int) -> Cause:
        """Of an access that fails."""
        unicorn = self._unicorn
        causes = {
            unicorn.UC_MEM_READ_UNMAPPED: Cause.READ, unicorn.UC_MEM_WRITE_UNMAPPED: Cause.WRITE,
            unicorn.UC_MEM_WRITE_PROT: Cause.READ_ONLY,
        }  # fmt: skip
        return causes.get(kind, Cause.FETCH)

    def register(self, name: str) -> int:
        return int(self.engine.reg_read(getattr(self._arm, f"UC_ARM_REG_{name}")))

    def set_register(self, name: str, value: int) -> None:
        self.engine.reg_write(getattr(self._arm, f"UC_ARM_REG_{name}"), value)

    def read(self, address: int, size: int) -> bytes:
        try:
            return bytes(self.engine.mem_read(address, size))
        except self._unicorn.UcError:
            raise self._platform.outside(address, size) from None

    def write(self, address: int, data: bytes) -> None:
        try:
            self.engine.mem_write(address, data)
        except self._unicorn.UcError:
            raise self._platform.outside(address, len(data)) from None


def _ignored(*_: object) -> None:
    """What is written to a unit that is always on."""


def _unicorn() -> tuple[Any, Any]:
    hint = "pip install 'unicorn>=2.1'"
    try:
        import unicorn
        from unicorn import arm_const
    except ImportError:
        raise CompileError("unicorn", "is not installed: it runs programs for Cortex-M", hint) from None
    if unicorn.uc_version()[:2] < OLDEST_UNICORN:
        version = ".".join(map(str, unicorn.uc_version()[:2]))
        raise CompileError(f"unicorn {version}", "is too old to run programs for Cortex-M", hint)
    return unicorn, arm_const
