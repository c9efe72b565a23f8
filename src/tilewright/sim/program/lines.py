"""Source lines of addresses, from the program's debug information (DWARF 2 to 5 line tables)."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

from tilewright.sim.program.elf import Elf, sections

FORM_STRING, FORM_LINE_STRP, FORM_STRP, FORM_UDATA, FORM_DATA16, FORM_BLOCK = 0x08, 0x1F, 0x0E, 0x0F, 0x1E, 0x09
CONTENT_PATH = 1


def source_line(elf: Elf, address: int) -> str:
    """`file:line`, or nothing."""
    rows = _rows(elf.data)
    at = bisect_right(rows, address, key=lambda row: row[0]) - 1
    if at < 0 or not rows[at][1]:
        return ""
    return f"{rows[at][1]}:{rows[at][2]}"


def place_of(elf: Elf | None, pc: int) -> str:
    """Function and source line of an address, as far as the program tells."""
    if elf is None:
        return f"pc {pc:#010x}"
    line = source_line(elf, pc)
    return f"pc {pc:#010x} in {elf.function_at(pc)}{f' ({line})' if line else ''}"


@lru_cache(maxsize=8)
def _rows(data: bytes) -> list[tuple[int, str, int]]:
    """(address, file, line) by address, of one address the last row counts; an empty file ends a sequence. A table that
    cannot be read counts as absent."""
    found = sections(data)
    tables = (found.get(name, b"") for name in (".debug_line", ".debug_line_str", ".debug_str"))
    try:
        return sorted(_units(*tables), key=lambda row: (row[0], row[1] != ""))
    except (struct.error, IndexError, ValueError):
        return []


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def number(self, kind: str) -> int:
        (value,) = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(kind)
        return int(value)

    def unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        width = 7 * (self.at - start)
        return value - (1 << width) if value >> (width - 1) else value

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return text


@dataclass
class _Header:
    minimum: int = 1
    line_base: int = 0
    line_range: int = 1
    opcode_base: int = 13
    lengths: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def _units(data: bytes, line_strings: bytes, strings: bytes) -> list[tuple[int, str, int]]:
    rows: list[tuple[int, str, int]] = []
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        reader = _Reader(data[: at + 4 + length], at + 4)
        at += 4 + length
        header, start = _header(reader, line_strings, strings)
        reader.at = start
        rows += _program(reader, header)
    return rows


def _header(reader: _Reader, line_strings: bytes, strings: bytes) -> tuple[_Header, int]:
    header = _Header()
    version = reader.number("H")
    if version >= 5:
        reader.at += 2
    header_length = reader.number("I")
    start = reader.at + header_length
    header.minimum = reader.number("B")
    if version >= 4:
        reader.at += 1
    reader.at += 1
    header.line_base, header.line_range, header.opcode_base = reader.number("b"), reader.number("B"), reader.number("B")
    header.lengths = [reader.number("B") for _ in range(header.opcode_base - 1)]
    if version >= 5:
        _entries(reader, line_strings, strings)
        header.files = _entries(reader, line_strings, strings)
    else:
        header.files = ["", *_old_files(reader)]
    return header, start


def _old_files(reader: _Reader) -> list[str]:
    while reader.string():
        pass
    files = []
    while name := reader.string():
        files.append(name)
        for _ in range(3):
            reader.unsigned()
    return files


def _entries(reader: _Reader, line_strings: bytes, strings: bytes) -> list[str]:
    formats = [(reader.unsigned(), reader.unsigned()) for _ in range(reader.number("B"))]
    names = []
    for _ in range(reader.unsigned()):
        name = ""
        for content, form in formats:
            value = _form(reader, form, line_strings, strings)
            name = str(value) if content == CONTENT_PATH else name
        names.append(name)
    return names


def _form(reader: _Reader, form: int, line_strings: bytes, strings: bytes) -> str | int:
    if form == FORM_STRING:
        return reader.string()
    if form in (FORM_LINE_STRP, FORM_STRP):
        return _Reader(line_strings if form == FORM_LINE_STRP else strings, reader.number("I")).string()
    if form == FORM_DATA16:
        reader.at += 16
    elif form == FORM_BLOCK:
        reader.at += reader.unsigned()
    elif form == FORM_UDATA:
        return reader.unsigned()
    else:
        raise ValueError(f"form {form}")
    return 0


def _program(reader: _Reader, header: _Header) -> list[tuple[int, str, int]]:
    rows: list[tuple[int, str, int]] = []
    address, file, line = 0, 1, 1

    def emit() -> None:
        name = header.files[file] if file < len(header.files) else "?"
        rows.append((address, name.rsplit("/", 1)[-1], line))

    while reader.at < len(reader.data):
        opcode = reader.number("B")
        if opcode >= header.opcode_base:
            step = opcode - header.opcode_base
            address += step // header.line_range * header.minimum
            line += header.line_base + step % header.line_range
            emit()
        elif opcode == 0:
            end = reader.unsigned() + reader.at
            extended = reader.number("B")
            if extended == 1:
                rows.append((address, "", 0))
                address, file, line = 0, 1, 1
            elif extended == 2:
                address = reader.number("I")
            reader.at = end
        elif opcode == 1:
            emit()
        elif opcode == 2:
            address += reader.unsigned() * header.minimum
        elif opcode == 3:
            line += reader.signed()
        elif opcode == 4:
            file = reader.unsigned()
        elif opcode == 8:
            address += (255 - header.opcode_base) // header.line_range * header.minimum
        elif opcode == 9:
            address += reader.number("H")
        else:
            for _ in range(header.lengths[opcode - 1]):
                reader.unsigned()
    return rows
