"""Why an emulated core stopped, in words, with the bits of the fault status registers as Arm names them."""

from __future__ import annotations

from enum import Enum

from tilewright.errors import CompileError, StackOverrun
from tilewright.records import dataclass

DATA = "a wild pointer, or an address of another chip?"


class Cause(Enum):
    """What goes wrong: the fault and its bit in the Configurable Fault Status Register, words, and what to try."""

    READ = "BusFault (PRECISERR)", "reads {size} at {address:#010x}, where nothing is mapped", DATA
    WRITE = "BusFault (PRECISERR)", "writes {size} at {address:#010x}, where nothing is mapped", DATA
    READ_ONLY = (
        "BusFault (PRECISERR)", "writes {size} at {address:#010x}, which is flash",
        "a wild pointer, an array that is too short, or a constant that is written to?",
    )  # fmt: skip
    FETCH = (
        "BusFault (IBUSERR)", "branches to {address:#010x}, where there is no code",
        "a wild function pointer or return address?",
    )  # fmt: skip
    UNDEFINED = (
        "UsageFault (UNDEFINSTR)", "executes an instruction that {core} does not have",
        "is the program built for this core?",
    )  # fmt: skip
    NO_UNIT = (
        "UsageFault (NOCP)", "uses floats while the floating-point unit is off, or where there is none",
        "set CPACR at the start, or build it without floats in hardware",
    )  # fmt: skip
    STATE = (
        "UsageFault (INVSTATE)", "branches to {address:#010x} as if it were Arm code: the lowest bit is 0",
        "addresses of Thumb functions are odd",
    )  # fmt: skip
    UNALIGNED = (
        "UsageFault (UNALIGNED)", "accesses memory at an address that is not a multiple of the size of the access",
        "{core} supports aligned accesses only",
    )  # fmt: skip
    BREAKPOINT = (
        "breakpoint", "hits one that is not semihosting's 0xab", "there is no debugger here: remove it",
    )  # fmt: skip
    EXCEPTION = (
        "exception {number}", "raises an exception, and exceptions are not emulated",
        "run code that needs no interrupts or system calls",
    )  # fmt: skip

    def __init__(self, status: str, what: str, hint: str) -> None:
        self.status, self.what, self.hint = status, what, hint


class Unfinished(CompileError):
    """A program has not ended within what it was given."""


def stack_overrun(place: str, size: int) -> StackOverrun:
    return StackOverrun(place, f"the stack of {size} bytes is too small", f"give it more: --stack {2 * size}")


WITHOUT_STATUS = "cortex-m0plus"
"""The one core on which every fault is a HardFault, without further bits."""


@dataclass(frozen=True)
class Fault:
    cause: Cause
    core: str
    address: int = 0
    size: int = 0
    number: int = 0

    @property
    def what(self) -> str:
        status = self.cause.status.format(number=self.number)
        if self.core == WITHOUT_STATUS and "Fault" in status:
            status = "HardFault"
        return f"{status}: {self._said(self.cause.what)}"

    @property
    def hint(self) -> str:
        return self._said(self.cause.hint)

    def _said(self, text: str) -> str:
        size = "1 byte" if self.size == 1 else f"{self.size} bytes"
        return text.format(size=size, address=self.address, core=self.core)
