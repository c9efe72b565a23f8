"""What kernels need and do, as C says it: functions in headers beside a target's kernels, called on this machine.

`*_sizes.h` say numbers of a call, as the bytes of working memory that it needs; kernels share what is in them. Each is
a function of the kernel's parameter struct, of the bytes of operands' elements (`x_bytes`) or whether these are signed
(`x_signed`), and of other numbers:

    static inline int64_t tw_window_scratch(const tw_conv_params *p, int32_t x_bytes, int32_t w_bytes) { ... }

`*_work.h` say what the cycles of a call are a weighted sum of: its units of work, which cost models have a coefficient
for. Kernels on clusters take a tile of a layer: `p` is the layer's, a second struct has the extents of the tile's
loops, each in the field of its name, and the product of all that it does not name in `rest`:

    static inline int64_t tw_pool_work(const tw_pool_params *p, const tw_loops *tile, int32_t cores, double *units) {
      TW_UNITS(1, tile->y * tile->x / cores);
    }

All headers of a folder are compiled once, as one library. Structs are laid out as on this machine, so that a function
must not ask for the size of a pointer: it takes the target's as an argument.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import InternalError
from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES, TensorType
from tilewright.records import dataclass
from tilewright.target.struct_size import Layout, struct_layout
from tilewright.toolchain.compiler import find_compiler
from tilewright.toolchain.shared_library import library_of

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = ("*_sizes.h", "*_work.h")
POINTER = ctypes.sizeof(ctypes.c_void_p)
MOST_UNITS = 32
"""TW_MOST_UNITS in C."""
OTHERS = "rest"
"""The field for all loops that a struct does not name."""
_FUNCTION = re.compile(
    r"^static inline int64_t (\w+)\(\s*const (\w+) \*p(?:,\s+const (\w+) \*tile)?((?:,\s+int32_t \w+)*)"
    r"(,\s+double \*units)?\)",
    re.MULTILINE,
)
_NUMBER = re.compile(r"int32_t (\w+)")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
Units = ctypes.c_double * MOST_UNITS


@dataclass(frozen=True)
class Declared:
    """A function as a header declares it."""

    header: str
    struct: str
    """The type of the parameters that it takes."""
    loops: str
    """The type of a tile's loops that it takes; empty where it takes none."""
    numbers: tuple[str, ...]
    """What it takes besides."""
    says_work: bool


class HeadersInC:
    """The functions of the headers in one folder of kernels; these find further headers in `bases`."""

    def __init__(self, folder: Path, *bases: Path) -> None:
        self.folders = (folder, *bases)

    def __call__(self, name: str, *numbers: int) -> InC:
        """A function of sizes, for a kernel's line, with what it takes besides parameters and bytes of elements."""
        return InC(self, name, numbers)

    def work(self, name: str, *numbers: int) -> WorkInC:
        """A function of units of work, likewise; the number of cores is that of the call."""
        return WorkInC(self, name, numbers)

    @cached_property
    def declared(self) -> Mapping[str, Declared]:
        """By the functions' names."""
        return {
            name: Declared(path.name, kind, loops, tuple(_NUMBER.findall(numbers)), bool(units))
            for path in sorted(path for pattern in HEADERS for path in self.folders[0].glob(pattern))
            for name, kind, loops, numbers, units in _FUNCTION.findall(path.read_text(encoding="utf-8"))
        }

    def find(self, name: str) -> Declared:
        if name not in self.declared:
            raise InternalError(name, f"is in no {' or '.join(HEADERS)} of {self.folders[0]}")
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
        function.restype = ctypes.c_int64
        function.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
        return function, layout

    def loops(self, name: str) -> tuple[str, ...]:
        """Of a tile that a function takes, in their order."""
        one = self.find(name)
        if not one.loops:
            return ()
        layout = struct_layout(self.text, one.header, one.loops, POINTER)
        if any(member.scalar != "q" for member in layout.members.values()):
            raise InternalError(one.loops, "has other fields than int64_t")
        return tuple(layout.members)

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
    taken = ["p", *(["tile"] if one.loops else []), *(f"numbers[{at}]" for at in range(len(one.numbers)))]
    taken += ["units"] if one.says_work else []
    declared = (
        f"int64_t host_{name}(const {one.struct} *p, const {one.loops or 'void'} *tile, const int32_t *numbers, "
        "double *units)"
    )
    return (
        f"{declared};\n{declared} {{\n"
        f"  (void)tile, (void)numbers, (void)units;\n  return {name}({', '.join(taken)});\n}}\n"
        f"int64_t bytes_{name}(void);\nint64_t bytes_{name}(void) {{ return sizeof({one.struct}); }}"
    )


@dataclass(frozen=True)
class InC:
    """A function in C that says a number of a kernel's call."""

    headers: HeadersInC
    name: str
    numbers: tuple[int, ...]
    """What it takes besides parameters and bytes of elements, in its order."""

    @property
    def struct(self) -> str:
        """The type of the parameters that it takes."""
        return self.headers.find(self.name).struct

    def __call__(self, params: Params, types: Mapping[str, TensorType]) -> int:
        function, layout = self.headers.function(self.name)
        return int(function(bytes(layout.packed(params)), None, self.arguments(types, None), None))

    def arguments(self, types: Mapping[str, TensorType], cores: int | None) -> ctypes.Array[ctypes.c_int32]:
        """What it takes besides the structs."""
        others = iter(self.numbers)
        found = [_number(name, types, cores, others) for name in self.headers.find(self.name).numbers]
        given = [number for number in found if number is not None]
        if len(given) < len(found) or next(others, None) is not None:
            raise InternalError(self.name, f"is given {len(self.numbers)} numbers besides its parameters")
        return (ctypes.c_int32 * len(given))(*given)


def _number(name: str, types: Mapping[str, TensorType], cores: int | None, others: Iterator[int]) -> int | None:
    """Bytes of an operand's elements or whether they are signed, 0 where it is missing; cores of a call; another."""
    operand, _, asked = name.rpartition("_")
    if asked in ("bytes", "signed"):
        dtype = next((kind.dtype for key, kind in types.items() if key.lower() == operand), "")
        return BYTES.get(dtype, 0) if asked == "bytes" else int(dtype.startswith("int"))
    return cores if name == "cores" and cores is not None else next(others, None)


class WorkInC(InC):
    """A function in C that says the units of work of a kernel's call."""

    def units(
        self, params: Callable[[Op, Mapping[str, TensorType]], Params], op: Op, types: Mapping[str, TensorType],
        extents: Mapping[str, int], cores: int,
    ) -> tuple[float, ...]:  # fmt: skip
        """Of a tile with these extents; the function says the parameters of the whole layer."""
        layer = self.__dict__.get("_layer")
        if layer is None or layer.op is not op or layer.types is not types or layer.cores != cores:
            layer = self._layer_of(params(op, types), op, types, cores)
            self.__dict__["_layer"] = layer
        units = Units()
        count = layer.function(layer.params, self._tile(extents), layer.numbers, units)
        return tuple(units[:count])

    def _layer_of(self, params: Params, op: Op, types: Mapping[str, TensorType], cores: int) -> _Layer:
        function, layout = self.headers.function(self.name)
        return _Layer(op, types, cores, function, bytes(layout.packed(params)), self.arguments(types, cores))

    def _tile(self, extents: Mapping[str, int]) -> bytes | None:
        names = self._loops
        if not names:
            return None
        others = prod(size for loop, size in extents.items() if loop not in names)
        return struct.pack(f"{len(names)}q", *(others if name == OTHERS else extents.get(name, 1) for name in names))

    @cached_property
    def _loops(self) -> tuple[str, ...]:
        return self.headers.loops(self.name)


@dataclass(frozen=True, eq=False)
class _Layer:
    """What a function is told of a layer, whatever the tile: planners ask for many tiles of one after the other."""

    op: Op
    types: Mapping[str, TensorType]
    cores: int
    function: ctypes._NamedFuncPointer
    params: bytes
    numbers: ctypes.Array[ctypes.c_int32]
