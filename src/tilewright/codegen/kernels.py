"""The kernels a schedule uses: one C file for each combination of element types, made from the target's sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import lru_cache

from tilewright.codegen.literals import C_TYPES
from tilewright.ir.graph import Graph
from tilewright.ir.half_floats import FLOATS, HALF
from tilewright.ir.op import Op
from tilewright.ir.requant import requants_of
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import SHORT
from tilewright.ops._activation import curve_of
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.kernel import Argument, Kernel, Types

CURVES_FILE = "curves.h"
HAS_EXPONENTS = "TW_HAS_EXPONENTS"
"""What headers ask that can be for one kind of rounding alone."""
HAS_NATIVE = "TW_HAS_NATIVE"
"""What headers ask that can leave native requantisations out."""
PREFIX_FILE = "prefix.h"
"""Beside the kernels: gives their functions the name of the network."""


Read = Callable[[str], str]
"""The file of a kernel's source or header by its name."""


@dataclass(frozen=True)
class Instance:
    """A kernel with its template arguments chosen."""

    kernel: Kernel
    dtypes: tuple[tuple[str, str], ...]
    """Template argument -> element type, in the order of the signature."""
    has_exponents: bool | None = None
    """Whether it requantises in one of TensorFlow Lite's roundings; None where it does not requantise."""
    curve: str = ""
    """The curve that its float results go through, which is compiled into it."""
    has_native: bool = field(default=True, compare=False)
    """Whether any of its calls requantises natively: those of one network share it."""

    @property
    def suffix(self) -> str:
        shorts = [SHORT[dtype] for _, dtype in self.dtypes]
        same = shorts[:1] if len(set(shorts)) == 1 else shorts
        return "_".join([*same, *["tflite"] * bool(self.has_exponents), *filter(None, [self.curve])])

    @property
    def stem(self) -> str:
        return "_".join(filter(None, [self.kernel.stem, self.suffix]))

    @property
    def function(self) -> str:
        return f"tw_{self.stem}"

    @property
    def finish(self) -> str:
        """The function that all cores call after an accelerator."""
        return f"{self.function}_finish"

    @property
    def gather(self) -> str:
        """The function that all cores call before an accelerator."""
        return f"{self.function}_gather"

    @property
    def functions(self) -> dict[str, str]:
        """By what they do for a tile."""
        gather = {"gather": self.gather} if self.kernel.has_prologue else {}
        return {"run": self.function} | gather | ({"finish": self.finish} if self.kernel.has_epilogue else {})

    @property
    def file(self) -> str:
        return f"{self.stem}.c"

    @property
    def takes_scratch(self) -> bool:
        return self.kernel.scratch is not None

    def c_type(self, argument: Argument) -> str:
        return C_TYPES[argument.dtype or dict(self.dtypes)[argument.stem]]

    def prototype(self) -> str:
        return "\n".join(f"void {function}({self._arguments()});" for function in self.functions.values())

    def _arguments(self) -> str:
        arguments = [f"const {self.kernel.params_type} *params"]
        for argument in self.kernel.arguments():
            constant = "" if argument.is_result else "const "
            if argument.variadic:
                arguments.append(f"{constant}{self.c_type(argument)} *const *{_lower(argument.stem)}")
            else:
                arguments.append(f"{constant}{self.c_type(argument)} *{_lower(argument.stem)}")
        if self.takes_scratch:
            arguments.append("void *scratch")
        return ", ".join(arguments)

    @property
    def includes(self) -> tuple[str, ...]:
        """Headers of the target's before the source; what applies a curve comes after the curve."""
        return (CURVES_FILE, self.kernel.params_header) if self.curve else (self.kernel.params_header,)

    @property
    def around(self) -> tuple[str, ...]:
        """The header that makes another kernel of the source, if there is one."""
        return (self.kernel.around,) if self.kernel.around else ()

    def text(self, read: Read, numbered: bool = False) -> str:
        """The kernel's source with its types fixed at the top; compilers count its own lines if it is `numbered`."""
        defines = [f"#define TW_NAME {self.function}"]
        defines += [f"#define TW_GATHER {self.gather}"] if self.kernel.has_prologue else []
        defines += [f"#define TW_FINISH {self.finish}"] if self.kernel.has_epilogue else []
        defines += [f"#define TW_{name.upper()} {C_TYPES[dtype]}" for name, dtype in self.dtypes]
        defines += [f"#define TW_{name.upper()}_IS_FLOAT {int(dtype in FLOATS)}" for name, dtype in self.dtypes]
        defines += [line for name, dtype in self.dtypes if dtype in HALF for line in _of_half(name.upper(), dtype)]
        if self.has_exponents is not None:
            # A kernel for both kinds of rounding would be larger, and later in the instruction cache.
            defines.append(f"#define {HAS_EXPONENTS} {int(self.has_exponents)}")
        defines += [f"#define TW_CURVE tw_curve_{self.curve}"] if self.curve else []
        source = read(self.kernel.source)
        if not self.has_native and any(HAS_NATIVE in text for text in headers([self], read).values()):
            defines.append(f"#define {HAS_NATIVE} 0")
        # With the prototype before it, the compiler checks the source against the signature.
        names = (*self.includes, PREFIX_FILE, *self.around)
        includes = ["#include <stdint.h>", *(f'#include "{name}"' for name in names)]
        known = [*includes, self.prototype(), *([f'#line 1 "{self.kernel.source}"'] if numbered else [])]
        return "\n".join([*defines, *known]) + ("\n" if numbered else "\n\n") + source


def _of_half(name: str, dtype: str) -> tuple[str, ...]:
    """How an operand of 16 bits is read and written (`half.h`)."""
    kinds = ("HALF", "BFLOAT") if dtype == "bfloat16" else ("HALF",)
    return (
        *(f"#define TW_{name}_IS_{kind} 1" for kind in kinds),
        f"#define TW_{name}_LOAD tw_from_{dtype}",
        f"#define TW_{name}_STORE tw_to_{dtype}",
    )


def instance_of(graph: Graph, layer: LayerSchedule) -> Instance:
    types = graph.all_types(layer.node)
    chosen = []
    for argument in layer.kernel.arguments():
        if argument.dtype:
            continue
        name = f"{argument.stem}0" if argument.variadic else argument.stem
        if name in types:
            chosen.append((argument.stem, types[name].dtype))
        else:
            chosen.append((argument.stem, _of_nothing(layer.kernel.dtypes[argument.stem], types)))
    return Instance(layer.kernel, tuple(chosen), has_exponents(layer.node.op), curve_of(layer.node.op))


def _of_nothing(allowed: frozenset[str], types: Types) -> str:
    """The type of an absent argument: the first result's where it may be, so that a call without it shares its kernel
    with one that has it."""
    result = types["Y"].dtype if "Y" in types else ""
    return result if result in allowed else min(allowed)


def has_exponents(op: Op) -> bool | None:
    found = requants_of(op)
    return any(requant.has_exponents for requant in found) if found else None


def instances(layers: Iterable[tuple[Schedule, LayerSchedule]]) -> list[Instance]:
    """Each kernel instance once, in the order of first use."""
    natives: dict[Instance, bool] = {}
    for schedule, layer in layers:
        used = instance_of(schedule.graph, layer)
        natives[used] = natives.get(used, False) or is_native(layer.node.op)
    return [replace(used, has_native=native) for used, native in natives.items()]


def is_native(op: Op) -> bool:
    return any(requant.rounding == Rounding.NATIVE for requant in requants_of(op))


def headers(used: Iterable[Instance], read: Read) -> dict[str, str]:
    """The headers that the kernels include, found by following #include."""
    texts: dict[str, str] = {}
    waiting = [name for instance in used for name in (*instance.includes, *instance.around)]
    waiting += [name for instance in used for name in included(read(instance.kernel.source))]
    while waiting:
        name = waiting.pop()
        if name not in texts:
            texts[name] = read(name)
            waiting += included(texts[name])
    return texts


def prototypes(used: Iterable[Instance]) -> str:
    """kernels.h: what network.c calls."""
    used = list(used)
    includes = "\n".join(f'#include "{name}"' for name in sorted({i.kernel.params_header for i in used}))
    lines = "\n".join(instance.prototype() for instance in used)
    return f"""\
/* The kernels of this network. They are part of Tilewright. SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_H
#define TILEWRIGHT_KERNELS_H

#include <stdint.h>

#include "{PREFIX_FILE}"
{includes}

{lines}

#endif
"""


def prefixes(used: Iterable[Instance], name: str, more: Iterable[str] = ()) -> str:
    """prefix.h: kernels of two networks may differ, so that each network has its own."""
    functions = [*(function for instance in used for function in instance.functions.values()), *more]
    lines = "\n".join(f"#define {function} {prefixed(function, name)}" for function in functions)
    return f"""\
/* Kernel names carry the network's name, so that several networks link into one program. To share kernels between
 * networks that were made by the same version of Tilewright, empty this file in each and link the networks as
 * libraries. */
#ifndef TILEWRIGHT_PREFIX_H
#define TILEWRIGHT_PREFIX_H

{lines}

#endif
"""


def prefixed(function: str, name: str) -> str:
    """A kernel's function as the network of that name has it."""
    return f"{name}_{function.removeprefix('tw_')}"


@lru_cache(maxsize=1024)
def included(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r'^#include "([^"]+)"', text, re.MULTILINE))


def _lower(name: str) -> str:
    return name.lower()
