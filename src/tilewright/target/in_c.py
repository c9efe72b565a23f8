"""What kernels need, as C says it: functions in headers `*_sizes.h` beside a target's kernels, called on this machine.

Each is a function of the kernel's parameter struct, with what else it needs as further arguments:

    static inline int64_t tw_window_scratch(const tw_conv_params *p, int32_t x_bytes, int32_t w_bytes) { ... }

All of a folder are compiled once, as one library. Structs are laid out as on this machine, so that a function must not
ask for the size of a pointer: it takes the target's as an argument.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tilewright.errors import InternalError
from tilewright.ir.op import Params
from tilewright.ir.types import BYTES, TensorType
from tilewright.target.struct_size import Layout, struct_layout
from tilewright.toolchain.compiler import find_compiler
from tilewright.toolchain.shared_library import library_of

HEADERS = "*_sizes.h"
POINTER = ctypes.sizeof(ctypes.c_void_p)
_FUNCTION = re.compile(r"^static inline int64_t (\w+)\(const (\w+) \*p((?:,\s+int32_t \w+)*)\)", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Declared:
    """A function as a header declares it."""

    header: str
    struct: str
    """The type of the parameters that it takes."""
    more: int
    """Numbers that it takes besides."""


class SizesInC:
    """The functions of the headers in one folder of kernels; these find further headers in `bases`."""

    def __init__(self, folder: Path, *bases: Path) -> None:
        self.folders = (folder, *bases)

    def __call__(self, name: str, element_bytes: str = "", numbers: tuple[int, ...] = ()) -> InC:
        """One of them, for a kernel's line."""
        return InC(self, name, tuple(element_bytes.split()), numbers)

    @cached_property
    def declared(self) -> Mapping[str, Declared]:
        """By the functions' names."""
        return {
            name: Declared(path.name, struct, more.count(","))
            for path in sorted(self.folders[0].glob(HEADERS))
            for name, struct, more in _FUNCTION.findall(path.read_text(encoding="utf-8"))
        }

    def find(self, name: str) -> Declared:
        if name not in self.declared:
            raise InternalError(name, f"is in no {HEADERS} of {self.folders[0]}")
        return self.declared[name]

    def function(self, name: str) -> tuple[ctypes._NamedFuncPointer, Layout]:
        """It, ready to be called, and how the struct that it takes lies in this machine's memory."""
        if name not in self._functions:
            self._functions[name] = self._loaded(name)
        return self._functions[name]

    @cached_property
    def _functions(self) -> dict[str, tuple[ctypes._NamedFuncPointer, Layout]]:
        return {}

    def _loaded(self, name: str) -> tuple[ctypes._NamedFuncPointer, Layout]:
        one = self.find(name)
        layout = struct_layout(self.text, one.header, one.struct, POINTER)
        if self._library[f"bytes_{name}"]() != layout.size:
            raise InternalError(name, f"takes a {one.struct} of other bytes than {layout.size}")
        function = self._library[f"host_{name}"]
        function.restype, function.argtypes = ctypes.c_int64, (ctypes.c_char_p, ctypes.c_void_p)
        return function, layout

    def text(self, name: str) -> str:
        """Of a header."""
        found = next((path for path in (folder / name for folder in self.folders) if path.is_file()), None)
        if found is None:
            raise InternalError(name, f"is not in {', '.join(map(str, self.folders))}")
        return found.read_text(encoding="utf-8")

    @cached_property
    def _library(self) -> ctypes.CDLL:
        return ctypes.CDLL(str(library_of(dict(self._texts()), "sizes", find_compiler())))

    def _texts(self) -> Iterator[tuple[str, str]]:
        """A source for each header, as two of them may use one name for different things; and all that they include."""
        headers = {one.header for one in self.declared.values()}
        for header in sorted(headers):
            own = {name: one for name, one in self.declared.items() if one.header == header}
            yield f"{Path(header).stem}.c", "\n".join([f'#include "{header}"', *map(_exported, own, own.values()), ""])
        waiting, seen = sorted(headers), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                yield name, self.text(name)
                waiting += _INCLUDE.findall(self.text(name))


def _exported(name: str, one: Declared) -> str:
    more = "".join(f", more[{at}]" for at in range(one.more))
    return (
        f"int64_t host_{name}(const {one.struct} *p, const int32_t *more);\n"
        f"int64_t host_{name}(const {one.struct} *p, const int32_t *more) {{ (void)more; return {name}(p{more}); }}\n"
        f"int64_t bytes_{name}(void);\n"
        f"int64_t bytes_{name}(void) {{ return sizeof({one.struct}); }}"
    )


@dataclass(frozen=True)
class InC:
    """A function in C that says a number of a kernel's call."""

    sizes: SizesInC
    name: str
    element_bytes: tuple[str, ...]
    """Operands and results of which it takes the bytes of an element."""
    numbers: tuple[int, ...]
    """What it takes after these."""

    @property
    def struct(self) -> str:
        """The type of the parameters that it takes."""
        return self.sizes.find(self.name).struct

    def __call__(self, params: Params, types: Mapping[str, TensorType]) -> int:
        function, layout = self.sizes.function(self.name)
        return int(
            function(bytes(layout.packed(params)), self._more(tuple(types[x].dtype for x in self.element_bytes)))
        )

    def _more(self, dtypes: tuple[str, ...]) -> ctypes.Array[ctypes.c_int32]:
        """What it takes besides the parameters."""
        more = (*(BYTES[dtype] for dtype in dtypes), *self.numbers)
        if len(more) != self.sizes.find(self.name).more:
            raise InternalError(self.name, f"is given {len(more)} numbers besides its parameters")
        return (ctypes.c_int32 * len(more))(*more)
