"""Reads 32-bit ELF files: segments, symbols. A file is untrusted input."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import field
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass

MACHINE_ARM, MACHINE_RISCV = 40, 243
MACHINES = {MACHINE_ARM: ("Arm", "thumb"), MACHINE_RISCV: ("RISC-V", "riscv32")}
"""Names, and what compilers call them."""
COMMANDS = {
    MACHINE_ARM: "tilewright sim {} --platform cortex-m4 (or another core: `tilewright targets` lists them)",
    MACHINE_RISCV: "tilewright sim {} --platform siracusa (or another: `tilewright targets` lists them)",
}
"""That run a program of a machine."""
TYPE_EXECUTABLE, SEGMENT_LOAD, SECTION_SYMBOLS = 2, 1, 2
SYMBOL_FUNCTION, SYMBOL_NONE = 2, 0
ALLOCATED, WRITABLE, EXECUTABLE = 2, 1, 4
SECTION_BYTES = 1
FLAG_COMPRESSED, FLAG_FLOATS = 1, 6
NAMELESS = (b"\0", b"$", b".L")
"""How names of symbols begin that no source has given."""
LINK = "link it with a linker script for the platform"


@dataclass(frozen=True)
class Segment:
    address: int
    """Where the program uses it."""
    load_address: int
    """Where its bytes are put; initialised data may lie elsewhere until the program copies it."""
    data: bytes
    size: int
    """In memory; what the file does not hold is zero."""


@dataclass(frozen=True)
class Elf:
    path: str
    entry: int
    segments: tuple[Segment, ...]
    symbols: dict[str, int]
    functions: tuple[tuple[int, str], ...] = field(repr=False)
    """Sorted by address."""
    data: bytes = field(repr=False)

    @property
    def machine(self) -> int:
        return int.from_bytes(self.data[18:20], "little")

    @property
    def is_compressed(self) -> bool:
        """Of a program for RISC-V: whether it has compressed instructions."""
        return self.machine == MACHINE_RISCV and bool(self._flags & FLAG_COMPRESSED)

    @property
    def has_floats(self) -> bool:
        """Of a program for RISC-V: whether it passes floats in registers of their own."""
        return self.machine == MACHINE_RISCV and bool(self._flags & FLAG_FLOATS)

    @property
    def _flags(self) -> int:
        return int.from_bytes(self.data[36:40], "little")

    def function_at(self, address: int) -> str:
        """`name+offset`, or nothing known."""
        at = bisect_right(self.functions, (address, "\U0010ffff")) - 1
        if at < 0 or not any(s.address <= address < s.address + s.size for s in self.segments):
            return "?"
        start, name = self.functions[at]
        return name if start == address else f"{name}+{address - start:#x}"


def symbol_address(elf: Elf | None, name: str) -> int:
    if elf is None or name not in elf.symbols:
        raise CompileError(name, "is not a symbol of the program", "give its name in the symbol table")
    return elf.symbols[name]


def read_elf(path: str | Path, machine: int = MACHINE_RISCV) -> Elf:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        hint = "check the path: a program that was linked for the platform is expected"
        raise CompileError(str(path), f"cannot be read: {error.strerror}", hint) from None
    return parse_elf(data, str(path), machine)


def parse_elf(data: bytes, name: str, machine: int = MACHINE_RISCV) -> Elf:
    _check_header(data, name, machine)
    try:
        return _parse(data, name)
    except struct.error:
        raise CompileError(name, "is truncated: a header lies beyond its end", "build it again") from None


def _check_header(data: bytes, name: str, wanted: int) -> None:
    name_of_wanted, target = MACHINES[wanted]
    if data[:4] != b"\x7fELF":
        raise CompileError(name, "is not an ELF file", "give the linked program, not a source or a raw binary")
    if len(data) < 52:
        raise CompileError(name, f"is truncated: {len(data)} bytes", "build it again")
    if data[4] != 1 or data[5] != 1:
        bits = {1: "32-bit", 2: "64-bit"}.get(data[4], f"of class {data[4]}")
        order = {1: "little-endian", 2: "big-endian"}.get(data[5], f"of byte order {data[5]}")
        raise CompileError(name, f"is {bits}, {order}", f"the cores are 32-bit, little-endian: build for {target}")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if machine != wanted:
        made_for = f"{MACHINES[machine][0]} ({machine})" if machine in MACHINES else f"machine {machine}"
        instead = f"; or run it where it belongs: {COMMANDS[machine].format(name)}" if machine in COMMANDS else ""
        what = f"is for {made_for}, not for {name_of_wanted} ({wanted})"
        raise CompileError(name, what, f"build for {target}{instead}")
    if kind != TYPE_EXECUTABLE:
        raise CompileError(name, "is not an executable: it is not linked", LINK)


def _parse(data: bytes, name: str) -> Elf:
    entry, program_offset, section_offset = struct.unpack_from("<III", data, 24)
    program_size, programs, section_size, sections = struct.unpack_from("<HHHH", data, 42)
    if (programs and program_size < 32) or (sections and section_size < 40):
        raise CompileError(name, "is damaged: its headers are too small", "build it again")
    segments = []
    for i in range(programs):
        at = program_offset + i * program_size
        kind, offset, address, load_address, file_size, size = struct.unpack_from("<IIIIII", data, at)
        if kind != SEGMENT_LOAD or size == 0:
            continue
        if file_size > size:
            raise CompileError(
                name, f"segment {i} has {file_size} bytes in the file, {size} in memory", "build it again"
            )
        if offset + file_size > len(data):
            what = f"is truncated: segment {i} ends at byte {offset + file_size} of {len(data)}"
            raise CompileError(name, what, "build it again")
        segments.append(Segment(address, load_address, data[offset : offset + file_size], size))
    if not segments:
        raise CompileError(name, "has nothing to load", LINK)
    symbols, functions = _symbols(data, section_offset, section_size, sections)
    return Elf(name, entry, tuple(segments), symbols, functions, data)


def _symbols(data: bytes, offset: int, size: int, count: int) -> tuple[dict[str, int], tuple[tuple[int, str], ...]]:
    headers = [struct.unpack_from("<IIIIIIIIII", data, offset + i * size) for i in range(count)]
    symbols: dict[str, int] = {}
    functions: list[tuple[int, str]] = []
    for header in headers:
        if header[1] != SECTION_SYMBOLS or header[6] >= count or header[9] != 16:
            continue
        strings, table = headers[header[6]][4], data[header[4] : header[4] + header[5]]
        if len(table) < header[5]:
            raise struct.error
        for name_at, value, _, info, _, section in struct.iter_unpack("<IIIBBH", table):
            # Most are a compiler's own, which are not worth a string each.
            if data.startswith(NAMELESS, strings + name_at) or not (name := _string(data, strings + name_at)):
                continue
            is_code = section < count and bool(headers[section][2] & EXECUTABLE)
            is_function = info & 15 == SYMBOL_FUNCTION or (info & 15 == SYMBOL_NONE and is_code)
            # The lowest bit of an Arm function says that its instructions are Thumb's.
            symbols[name] = value & ~1 if is_function else value
            if is_function:
                functions.append((symbols[name], name))
    return symbols, tuple(sorted(functions))


def _string(data: bytes, at: int) -> str:
    end = data.find(b"\0", at)
    return data[at : end if end >= 0 else len(data)].decode("utf-8", "replace")


def read_only_ranges(elf: Elf) -> list[tuple[int, int]]:
    """Addresses of code and constants: sections that are loaded where they are used, but not writable. What is loaded
    elsewhere is for the program to put there."""
    in_place = [segment for segment in elf.segments if segment.load_address == segment.address]
    return [
        (h[3], h[3] + h[5])
        for h in _section_headers(elf.data)
        if h[2] & (ALLOCATED | WRITABLE) == ALLOCATED and h[5]
        if any(segment.address <= h[3] < segment.address + len(segment.data) for segment in in_place)
    ]


def bytes_between(elf: Elf, start: int, end: int) -> bytes:
    """By the addresses at which they are used: sections know these, wherever segments are loaded."""
    for h in _section_headers(elf.data):
        if h[1] == SECTION_BYTES and h[2] & ALLOCATED and h[3] <= start < h[3] + h[5]:
            return elf.data[h[4] + start - h[3] : h[4] + min(end - h[3], h[5])]
    return b""


def load_in_place(data: bytes) -> bytes:
    """A program whose segments have no address but the one they are loaded at: loaders differ in which they take."""
    changed = bytearray(data)
    (offset,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    for at in range(offset, offset + size * count, size):
        kind, _, _, load_address, file_size = struct.unpack_from("<IIIII", data, at)
        if kind == SEGMENT_LOAD and file_size:
            struct.pack_into("<I", changed, at + 8, load_address)
    return bytes(changed)


def loaded_ranges(elf: Elf) -> list[tuple[int, int]]:
    """First address and the one behind the last of every program header that says what to load: where it is used, and
    where its bytes are put. A header of no bytes is there too."""
    (offset,) = struct.unpack_from("<I", elf.data, 28)
    size, count = struct.unpack_from("<HH", elf.data, 42)
    headers = [struct.unpack_from("<IIIIII", elf.data, offset + i * size) for i in range(count)]
    return [(start, start + h[5]) for h in headers if h[0] == SEGMENT_LOAD for start in dict.fromkeys((h[2], h[3]))]


def allocated_ranges(elf: Elf) -> list[tuple[int, int]]:
    """First address and the one behind the last of every section that takes up memory."""
    return [(h[3], h[3] + h[5]) for h in _section_headers(elf.data) if h[2] & ALLOCATED and h[5]]


def code_bytes(elf: Elf) -> int:
    """Of the sections that hold instructions."""
    return sum(len(code) for _, code in code_sections(elf))


def code_sections(elf: Elf) -> list[tuple[int, bytes]]:
    """Those that hold instructions, by the addresses at which they are used."""
    found = [h for h in _section_headers(elf.data) if h[2] & ALLOCATED and h[2] & EXECUTABLE]
    return [(h[3], elf.data[h[4] : h[4] + h[5]]) for h in found]


def _section_headers(data: bytes) -> list[tuple[int, ...]]:
    (offset,) = struct.unpack_from("<I", data, 32)
    size, count = struct.unpack_from("<HH", data, 46)
    if not offset or offset + size * count > len(data):
        return []
    return [struct.unpack_from("<IIIIII", data, offset + i * size) for i in range(count)]


def sections(data: bytes) -> dict[str, bytes]:
    """Sections by name, as far as the file holds them."""
    (offset,) = struct.unpack_from("<I", data, 32)
    size, count, names = struct.unpack_from("<HHH", data, 46)
    if not offset or offset + size * count > len(data) or names >= count:
        return {}
    headers = [struct.unpack_from("<IIIIII", data, offset + i * size) for i in range(count)]
    return {_string(data, headers[names][4] + h[0]): data[h[4] : h[4] + h[5]] for h in headers}
