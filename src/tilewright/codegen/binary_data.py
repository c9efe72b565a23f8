"""Constants as bytes: an assembler source takes them from a file. As C text they are long, and slow to compile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer
from tilewright.codegen.sections import section_of

SOURCE, BYTES = "network_data.S", "network_data.bin"

HEADER = """\
/* Where the linker puts the weights. */
#ifndef TILEWRIGHT_WEIGHTS_SECTION
#define TILEWRIGHT_WEIGHTS_SECTION .rodata
#endif

/* What assemblers call C's names and read-only data. */
#if defined(__APPLE__)
#define SYMBOL(name) _##name
#define SECTION(name) .section __TEXT,__const
#elif defined(_WIN32)
#define SYMBOL(name) name
#define SECTION(name) .section .rdata,"dr"
#else
#define SYMBOL(name) name
#define SECTION(name) .section name,"a",%progbits
#endif
"""

FOOTER = """
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
"""


def source(writer: Writer, file: str = BYTES) -> str:
    """network_data.S for a folder of C: it stands in the place of network_data.c."""
    title = f"/* Constants of {comment(writer.schedule.graph.name)}: the bytes of {file}. */\n"
    return title + HEADER + _arrays(writer, file) + FOOTER


def _arrays(writer: Writer, file: str) -> str:
    """Every constant under its C name, as a part of a file of bytes."""
    lines, section, at = list[str](), "", 0
    for name, data in _constants(writer):
        found = section_of(writer.schedule, name)
        placed, aligned = found.name, found.alignment
        if placed != section:
            lines += ["", f"    SECTION({placed})"]
        symbol, section = f"SYMBOL({writer.identifiers[name]})", placed
        lines += [f"    .balign {aligned}", f"    .globl {symbol}", f"{symbol}:"]
        lines += [f'    .incbin "{file}", {at}, {len(data)}']
        at += len(data)
    return "\n".join(lines) + "\n"


IN_C = """\
#undef TW_TEXT
#undef TW_TEXT_OF
#undef TW_SYMBOL
#undef TW_SECTION
#define TW_TEXT(name) #name
#define TW_TEXT_OF(macro) TW_TEXT(macro)
#define TW_SYMBOL(name) TW_TEXT_OF(__USER_LABEL_PREFIX__) name
#if defined(__APPLE__)
#define TW_SECTION ".section __TEXT,__const"
#elif defined(_WIN32)
#define TW_SECTION ".section .rdata,\\"dr\\""
#else
#define TW_SECTION ".section .rodata,\\"a\\""
#endif
"""


def inline(writer: Writer, file: str, alignment: int) -> str:
    """The constants inside a C file, for the compilers of this machine: one object less to make."""
    lines, at = [IN_C], 0
    for name, data in _constants(writer):
        symbol, begin = f'TW_SYMBOL("{writer.identifiers[name]}")', rf'TW_SECTION "\n.balign {alignment}\n.globl "'
        # Compilers may move these statements: each leaves the section as it was.
        part = rf'":\n.incbin \"{file}\", {at}, {len(data)}\n.text\n"'
        lines.append(rf'__asm__({begin} {symbol} "\n" {symbol} {part});')
        at += len(data)
    return "\n".join([*lines, ""])


def data(writer: Writer) -> bytes:
    """The bytes of all constants, one after another."""
    return b"".join(data for _, data in _constants(writer))


def _constants(writer: Writer) -> Iterator[tuple[str, bytes]]:
    for name in writer.constants:
        array = writer.schedule.graph.constants[name]
        # C has no empty arrays.
        yield name, np.ascontiguousarray(array).tobytes() or bytes(array.dtype.itemsize)
