"""Arm's semihosting: how a program prints, ends and asks for the time, without a device of its own."""

from __future__ import annotations

from typing import Protocol

OPEN, CLOSE, WRITE_CHARACTER, WRITE_TEXT, WRITE, READ = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
IS_TERMINAL, LENGTH = 0x09, 0x0C
CLOCK, TIME, ERROR_NUMBER, COMMAND_LINE, HEAP, EXIT, EXIT_EXTENDED = 0x10, 0x11, 0x13, 0x15, 0x16, 0x18, 0x20
BREAKPOINT = 0xBEAB
"""The instruction by which a program asks: `bkpt 0xab`."""
FINE = 0x20026
"""The reason that a program gives which ends as it should."""
FAILED = 0xFFFF_FFFF
TERMINAL = b":tt"
"""The name of the file that is the console."""
CONSOLE_HANDLE = 1
LONGEST_TEXT = 1 << 16


class Memory(Protocol):
    def read(self, address: int, size: int) -> bytes: ...


class Console:
    """What a program has printed, and the code that it has ended with."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.text, self.exit_code = "", None

    exit_code: int | None

    def answer(self, operation: int, argument: int) -> int:
        """Do what is asked for; what goes back in r0."""
        if operation == WRITE_CHARACTER:
            self._print(self._memory.read(argument, 1))
        elif operation == WRITE_TEXT:
            self._print(self._string(argument))
        elif operation == WRITE:
            _, start, size = self._words(argument, 3)
            self._print(self._memory.read(start, min(size, LONGEST_TEXT)))
            return max(0, size - LONGEST_TEXT)
        elif operation == OPEN:
            return CONSOLE_HANDLE if self._string(self._words(argument, 1)[0]) == TERMINAL else FAILED
        elif operation == READ:
            return self._words(argument, 3)[2]  # nothing was read: there is no more
        elif operation == IS_TERMINAL:
            return 1
        elif operation == EXIT:
            self.exit_code = 0 if argument == FINE else 1
        elif operation == EXIT_EXTENDED:
            reason, code = self._words(argument, 2)
            self.exit_code = code if reason == FINE else 1
        elif operation not in (CLOSE, LENGTH, CLOCK, TIME, ERROR_NUMBER):
            return FAILED
        return 0

    def _print(self, data: bytes) -> None:
        self.text += data.decode("utf-8", "replace")

    def _words(self, address: int, count: int) -> list[int]:
        data = self._memory.read(address, 4 * count)
        return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 4 * count, 4)]

    def _string(self, address: int) -> bytes:
        """Until its zero; memory may end before the longest one would."""
        found = b""
        while len(found) < LONGEST_TEXT:
            byte = self._memory.read(address + len(found), 1)
            if byte == b"\0":
                break
            found += byte
        return found
