"""The size of a kernel's parameter struct on a 32-bit core, read from its header."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from tilewright.errors import InternalError

SIZES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4, "int": 4,
         "int64_t": 8, "uint64_t": 8}  # fmt: skip
POINTER = 4

_STRUCT = re.compile(r"typedef struct(?:\s+\w+)?\s*\{(.*?)\}\s*(\w+)\s*;", re.DOTALL)
_ALIAS = re.compile(r"typedef\s+(\w+)\s+(\w+)\s*;")
_DEFINE = re.compile(r"^#define\s+(\w+)\s+(\d+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def struct_bytes(read: Callable[[str], str], header: str, name: str) -> int:
    """Bytes of the struct `name`, which a header or what it includes defines; `read` gives a header's text."""
    size, _ = _layout(_gathered(read, header), name)
    return size


def _gathered(read: Callable[[str], str], header: str) -> str:
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
def _layout(text: str, name: str) -> tuple[int, int]:
    """Size and alignment of a type."""
    if name in SIZES:
        return SIZES[name], SIZES[name]
    bodies = {found: body for body, found in _STRUCT.findall(text)}
    aliases = {new: old for old, new in _ALIAS.findall(text)}
    if name in aliases:
        return _layout(text, aliases[name])
    if name not in bodies:
        raise InternalError(f"type {name}", "is not defined in the kernel's headers")
    defines = {macro: int(value) for macro, value in _DEFINE.findall(text)}
    size, alignment = 0, 1
    for field in filter(None, map(str.strip, bodies[name].split(";"))):
        for bytes_, align in _fields(text, field, defines):
            size = -(-size // align) * align + bytes_
            alignment = max(alignment, align)
    return -(-size // alignment) * alignment, alignment


def _fields(text: str, line: str, defines: dict[str, int]) -> list[tuple[int, int]]:
    """Size and alignment of each member that a line declares: `int32_t a, b[4]`, `const int32_t *p`."""
    line = line.removeprefix("const ").strip()
    kind, _, rest = line.partition(" ")
    found = []
    for member in rest.split(","):
        size, align = (POINTER, POINTER) if "*" in member else _layout(text, kind)
        for count in re.findall(r"\[(\w+)\]", member):
            size *= int(count) if count.isdigit() else defines[count]
        found.append((size, align))
    return found
