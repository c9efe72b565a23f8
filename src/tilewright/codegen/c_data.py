"""network_data.h and network_data.c: the constants of a network, as C. `binary_data.py` has them as bytes."""

from __future__ import annotations

from tilewright.codegen.literals import array_items
from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer, math_header
from tilewright.codegen.sections import definitions, section_of


def header(writer: Writer) -> str:
    lines = "\n".join(_declared(writer, name) for name in writer.used_constants)
    return f"""\
/* Constants of {comment(writer.schedule.graph.name)}. */
#ifndef {writer.macro}_NETWORK_DATA_H
#define {writer.macro}_NETWORK_DATA_H

#include <stdint.h>

{lines}

#endif
"""


def _declared(writer: Writer, name: str) -> str:
    """An array, or a part of the block of weights that functions are given."""
    weights = writer.shared.weights
    if weights is None:
        return f"extern const {writer.data_declaration(name)};"
    symbol = writer.identifiers[name]
    return f"#define {symbol} ((const {writer.c_type_of(name)} *)(weights + {weights[symbol]}))"


def source(writer: Writer) -> str:
    body = "".join(_array(writer, name) for name in writer.constants)
    return f"""\
/* Constants of {comment(writer.schedule.graph.name)}. */
#include "network_data.h"
{math_header(body)}
/* Where the linker puts the weights, for example __attribute__((section(".weights"))). */
#ifndef TILEWRIGHT_WEIGHTS
#define TILEWRIGHT_WEIGHTS
#endif
{definitions(writer.schedule, writer.constants)}{body}"""


def _array(writer: Writer, name: str) -> str:
    array = writer.schedule.graph.constants[name]
    shape = f"[{' x '.join(map(str, array.shape))}]" if array.shape else "scalar"
    items = array_items(array) or "0"
    return (
        f"\n/* {comment(name)}: {array.dtype.name} {shape} */\n"
        f"{section_of(writer.schedule, name).macro} const {writer.data_declaration(name)} = {{\n    {items}}};\n"
    )
