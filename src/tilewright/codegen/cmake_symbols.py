"""CMake lines that refuse two networks of a firmware with a symbol in common. Each is a library. If two libraries
define a symbol, the linker silently keeps the first definition: a network would read another's weights."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from tilewright.codegen.network import Writer
from tilewright.codegen.text_of import text_of

WIDTH = 116


def symbols(writers: Iterable[Writer], headers: Iterable[str] = ()) -> list[str]:
    """What other files see of networks, and of headers besides theirs: functions, constants, macros."""
    found = [word for header in headers for word in _declared(header)]
    for writer in writers:
        found += [*_declared(text_of(writer).header()), *writer.kernel_functions]
        found += [writer.identifiers[name] for name in writer.constants if writer.shared.weights is None]
    return list(dict.fromkeys(found))


def _declared(header: str) -> list[str]:
    kinds = r"#define|(?:TW_LM_API )?(?:int|int32_t|size_t|void)|extern const \w+"
    return re.findall(rf"^(?:{kinds}) (?!TW_)(\w+)", header, re.MULTILINE)


def refuse_shared(name: str, own: Iterable[str]) -> str:
    listed = textwrap.fill(" ".join(own), WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    return f"""\
# Two networks must not share a symbol: the linker may silently keep only one definition.
foreach(symbol
{listed}
)
  get_property(other GLOBAL PROPERTY TILEWRIGHT_OWNER_OF_${{symbol}})
  if(NOT "${{other}}" STREQUAL "")
    message(FATAL_ERROR "networks ${{other}} and {name} both have ${{symbol}}: compile one of them with another --name")
  endif()
  set_property(GLOBAL PROPERTY TILEWRIGHT_OWNER_OF_${{symbol}} {name})
endforeach()
"""
