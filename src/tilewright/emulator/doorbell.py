"""A user's device in QEMU, where accesses to registers cannot trap: the program keeps the registers as words of its
own, and asks by a breakpoint of semihosting that the device looks at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.errors import Refusal
from tilewright.sim.user.device import UserDevice

RING = 0x1E0
"""What the program asks for; semihosting leaves these numbers to applications."""
FLAG = "-DTW_DOORBELL"
"""With which a driver is compiled for it."""
JOB_ENDS = 1 << 31
"""In place of the register that was written last: the program waits for the end of a job."""
REGISTERS = 64
"""Words that a program keeps, behind one that says which register it has written last."""
WORD = 4


@dataclass
class DoorbellHost:
    """What a device can do in QEMU."""

    read_memory: Callable[[int, int], bytes]
    write_memory: Callable[[int, bytes], None]
    cycles: int = 0
    """Of the jobs that have begun."""

    def read(self, address: int, size: int) -> bytes:
        try:
            return self.read_memory(address, size)
        except ValueError as error:
            raise Refusal(
                f"reads {size} bytes at {address:#x}: {error}", "look at the registers that say where"
            ) from None

    def write(self, address: int, data: bytes) -> None:
        try:
            self.write_memory(address, data)
        except ValueError as error:
            what = f"writes {len(data)} bytes at {address:#x}: {error}"
            raise Refusal(what, "look at the registers that say where") from None

    def work(self, cycles: int, bytes_per_cycle: float, overlapped: bool, now: int) -> None:
        self.cycles += cycles


def ring(device: UserDevice, host: DoorbellHost, block: bytes, now: int) -> bytes:
    """Registers as a program has written them, the last one at last; what it reads of them afterwards."""
    last, *words = _words(block)
    device.host = host  # type: ignore[assignment]
    for number, word in enumerate(words):
        if word and WORD * number != last:
            device.write(WORD * number, word, now)
    device.write(last, words[last // WORD], now)
    return _registers(device, last, len(words), now)


def waits(block: bytes) -> bool:
    """Whether the program writes nothing, but needs what the device is at work for."""
    return _words(block[:WORD]) == [JOB_ENDS]


def ended(device: UserDevice, host: DoorbellHost, block: bytes, now: int) -> bytes:
    """The registers when that is over."""
    last, *words = _words(block)
    device.host = host  # type: ignore[assignment]
    device.tick(now)
    return _registers(device, last, len(words), now)


def _words(block: bytes) -> list[int]:
    return [int.from_bytes(block[at : at + WORD], "little") for at in range(0, len(block), WORD)]


def _registers(device: UserDevice, last: int, count: int, now: int) -> bytes:
    found = (device.read(WORD * number, now) for number in range(count))
    return b"".join(word.to_bytes(WORD, "little") for word in (last, *found))
