"""Arm's semihosting: by which a program prints and ends, with a breakpoint and a number of what it wants."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.records import dataclass

OPEN, CLOSE, WRITE_CHARACTER, WRITE_TEXT, WRITE, READ = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
IS_TERMINAL, LENGTH, CLOCK, TIME, ERROR_NUMBER, EXIT, EXIT_EXTENDED = 0x09, 0x0C, 0x10, 0x11, 0x13, 0x18, 0x20
ELAPSED = 0x30
"""Cycles, which whoever counts them writes into two words at r1."""
FINE = 0x20026
"""The reason that a program gives which ends as it should."""
LONGEST_TEXT = 4096
REQUEST = (0xBEAB).to_bytes(2, "little")
"""The breakpoint."""
FAILED = 0xFFFF_FFFF
CONSOLE, CONSOLE_HANDLE = ":tt", 1
"""The file that is the console: its name, and its number when it is open."""

Read = Callable[[int, int], bytes]


@dataclass(frozen=True)
class Answer:
    text: str = ""
    exit_code: int | None = None
    result: int = 0
    """What goes back in r0."""


def answer(operation: int, argument: int, read: Read) -> Answer:
    """To the operation in r0 and its argument in r1; `read` is asked for memory."""
    if operation == WRITE_CHARACTER:
        return Answer(chr(read(argument, 1)[0]))
    if operation == WRITE_TEXT:
        return Answer(_text(argument, read))
    if operation == WRITE:
        _, start, size = _words(argument, 3, read)
        return Answer(read(start, size).decode("utf-8", "replace"))
    if operation == OPEN:
        return Answer(result=CONSOLE_HANDLE if _text(_words(argument, 1, read)[0], read) == CONSOLE else FAILED)
    if operation == READ:
        return Answer(result=_words(argument, 3, read)[2])  # so many bytes were not read: there are none
    if operation == IS_TERMINAL:
        return Answer(result=1)
    if operation == EXIT:
        return Answer(exit_code=0 if argument == FINE else 1)
    if operation == EXIT_EXTENDED:
        return Answer(exit_code=_words(argument, 2, read)[1])
    return Answer(result=0 if operation in (CLOSE, LENGTH, CLOCK, TIME, ERROR_NUMBER, ELAPSED) else FAILED)


def _words(address: int, count: int, read: Read) -> list[int]:
    data = read(address, 4 * count)
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 4 * count, 4)]


def _text(address: int, read: Read) -> str:
    """Up to its end, which may be the end of the memory: read byte by byte."""
    found = bytearray()
    while len(found) < LONGEST_TEXT and (byte := read(address + len(found), 1)) != b"\0":
        found += byte
    return found.decode("utf-8", "replace")
