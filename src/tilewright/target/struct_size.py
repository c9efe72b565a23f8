"""A kernel's parameter struct, read from its header: where its fields lie, and its bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache

from tilewright.errors import InternalError
from tilewright.ir.op import Param
from tilewright.records import dataclass

SIZES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4, "int": 4,
         "int64_t": 8, "uint64_t": 8}  # fmt: skip
FORMATS = {"int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I",
           "float": "f", "int": "i", "int64_t": "q", "uint64_t": "Q"}  # fmt: skip
POINTER = 4
"""Bytes of a pointer on the 32-bit cores of clusters."""

_STRUCT = re.compile(r"typedef struct(?:\s+\w+)?\s*\{(.*?)\}\s*(\w+)\s*;", re.DOTALL)
_ALIAS = re.compile(r"typedef\s+(\w+)\s+(\w+)\s*;")
_DEFINE = re.compile(r"^#define\s+(\w+)\s+(\d+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_MEMBER = re.compile(r"(\**)\s*(?:const\s+)?(\w+)((?:\[\w+\])*)$")

Read = Callable[[str], str]
"""A header's text by its name."""


@dataclass(frozen=True)
class Member:
    """A field of a struct."""

    offset: int
    """In bytes."""
    count: int
    """Elements of an array; 1 of a single value."""
    scalar: str
    """How `struct` packs an element; empty for a struct or a pointer."""
    layout: Layout
    """Of an element."""
    size: int
    """Of all elements, in bytes."""


@dataclass(frozen=True)
class Layout:
    """Where the fields of a type lie."""

    size: int
    alignment: int
    members: Mapping[str, Member]

    def packed(self, params: Mapping[str, Param]) -> bytearray:
        """The struct's bytes on this machine with these fields, and zeros in all others; pointers are null."""
        buffer = bytearray(self.size)
        self._pack(params, buffer, 0)
        return buffer

    def _pack(self, params: Mapping[str, Param], buffer: bytearray, start: int) -> None:
        for name, value in params.items():
            member = self.members[name]
            if isinstance(value, Mapping):
                member.layout._pack(value, buffer, start + member.offset)
            elif not isinstance(value, list):
                values = value if isinstance(value, tuple) else (value,)
                struct.pack_into(f"={len(values)}{member.scalar}", buffer, start + member.offset, *values)


def struct_bytes(read: Read, header: str, name: str) -> int:
    """Bytes of the struct `name` on a 32-bit core, which a header or what it includes defines."""
    return struct_layout(read, header, name, POINTER).size


def struct_layout(read: Read, header: str, name: str, pointer: int) -> Layout:
    """Of the struct `name`, for pointers of this size."""
    return _layout(_gathered(read, header), name, pointer)


def _gathered(read: Read, header: str) -> str:
    """A header after those that it includes, each once."""
    texts: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in texts:
            return
        texts[name] = ""
        included, text = _parsed(read(name))
        for other in included:
            visit(other)
        texts.pop(name)
        texts[name] = text

    visit(header)
    return "\n".join(texts.values())


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[tuple[str, ...], str]:
    """What a header includes, and the header without comments."""
    return tuple(_INCLUDE.findall(text)), _COMMENT.sub("", text)


@lru_cache(maxsize=256)
def _layout(text: str, name: str, pointer: int) -> Layout:
    if name in SIZES:
        return Layout(SIZES[name], SIZES[name], {})
    bodies = {found: body for body, found in _STRUCT.findall(text)}
    aliases = {new: old for old, new in _ALIAS.findall(text)}
    if name in aliases:
        return _layout(text, aliases[name], pointer)
    if name not in bodies:
        raise InternalError(f"type {name}", "is not defined in the kernel's headers")
    defines = {macro: int(value) for macro, value in _DEFINE.findall(text)}
    end, alignment, members = 0, 1, {}
    for line in filter(None, map(str.strip, bodies[name].split(";"))):
        for field, member, align in _members(text, line, defines, pointer):
            start = -(-end // align) * align
            members[field] = Member(start, member.count, member.scalar, member.layout, member.size)
            end, alignment = start + member.size, max(alignment, align)
    return Layout(-(-end // alignment) * alignment, alignment, members)


def _members(text: str, line: str, defines: Mapping[str, int], pointer: int) -> list[tuple[str, Member, int]]:
    """Name, member and alignment of each field that a line declares: `int32_t a, b[4]`, `const int32_t *p`."""
    kind, _, rest = line.removeprefix("const ").strip().partition(" ")
    found = []
    for declared in map(str.strip, rest.split(",")):
        match = _MEMBER.match(declared)
        if match is None:
            raise InternalError(f"type {kind}", f"has a member {declared!r} that is not read here")
        stars, name, sizes = match.groups()
        count = 1
        for size in re.findall(r"\[(\w+)\]", sizes):
            count *= int(size) if size.isdigit() else defines[size]
        if stars:
            found.append((name, Member(0, count, "", Layout(pointer, pointer, {}), count * pointer), pointer))
        else:
            inner = _layout(text, kind, pointer)
            scalar = FORMATS.get(_base(text, kind), "")
            found.append((name, Member(0, count, scalar, inner, count * inner.size), inner.alignment))
    return found


def _base(text: str, kind: str) -> str:
    """What a type is another name for."""
    aliases = {new: old for old, new in _ALIAS.findall(text)}
    while kind in aliases:
        kind = aliases[kind]
    return kind
