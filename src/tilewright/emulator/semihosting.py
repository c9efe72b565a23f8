"""Arm's semihosting: by which a program prints and ends, with a breakpoint and a number of what it wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

WRITE_CHARACTER, WRITE_TEXT, EXIT, EXIT_EXTENDED = 0x03, 0x04, 0x18, 0x20
FINE = 0x20026
"""The reason that a program gives which ends as it should."""
LONGEST_TEXT = 4096
REQUEST = (0xBEAB).to_bytes(2, "little")
"""The breakpoint."""


@dataclass(frozen=True)
class Answer:
    text: str = ""
    exit_code: int | None = None


def answer(operation: int, argument: int, read: Callable[[int, int], bytes]) -> Answer:
    """To the operation in r0 and its argument in r1; `read` is asked for memory."""
    if operation == WRITE_CHARACTER:
        return Answer(chr(read(argument, 1)[0]))
    if operation == WRITE_TEXT:
        return Answer(_text(argument, read))
    if operation == EXIT:
        return Answer(exit_code=0 if argument == FINE else 1)
    if operation == EXIT_EXTENDED:
        return Answer(exit_code=int.from_bytes(read(argument + 4, 4), "little"))
    return Answer()


def _text(address: int, read: Callable[[int, int], bytes]) -> str:
    """Up to its end, which may be the end of the memory: read byte by byte."""
    found = bytearray()
    while len(found) < LONGEST_TEXT and (byte := read(address + len(found), 1)) != b"\0":
        found += byte
    return found.decode("utf-8", "replace")
