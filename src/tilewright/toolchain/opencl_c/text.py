"""The text of a kernel in OpenCL C."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.errors import present
from tilewright.records import dataclass
from tilewright.toolchain.compiler import find_cross_compiler
from tilewright.toolchain.opencl_c.spaces import CONSTANT, ENTRY, GLOBAL, KEPT, LOCAL, SHARED, Instance, Spaces
from tilewright.toolchain.opencl_c.tree import (
    Node,
    Tree,
    begin,
    body_of,
    end,
    parameters,
    preprocessed,
    tree_of,
)  # fmt: skip

ATTRIBUTE = re.compile(r"__attribute__\(\(address_space\(3\)\)\)")
DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
"""Stands in kernels that compute in doubles, which not every device has."""
OWN_TYPES = ("size_t", "ptrdiff_t", "uintptr_t")
"""That OpenCL C has itself."""
FUNCTIONS = (
    "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "round", "exp", "expm1", "log", "log1p", "erf", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "copysign", "fmax", "fmin",
    "fmod", "pow", "fma",
)  # fmt: skip
"""Of floats, which C calls by the same names with an `f` behind."""


@dataclass(frozen=True)
class Kernel:
    """In OpenCL C."""

    text: str
    own_bytes: int
    """Of memory that is its own, from launch to launch; zeros at first."""


def opencl_c(sources: Sequence[str], files: Mapping[str, str], headers: Path) -> list[Kernel]:
    """Of each of the sources, whose `files` include each other; `headers` has what the C library would."""
    clang = (find_cross_compiler().command[0], "clang")
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
        return [_kernel(clang, folder / source, headers) for source in sources]


def _kernel(clang: Sequence[str], source: Path, headers: Path) -> Kernel:
    text = preprocessed(clang, source, [headers])
    tree = tree_of(clang, text, source.with_suffix(".whole.c"))
    return _Writer(tree, source.stem).kernel()


class _Writer:
    def __init__(self, tree: Tree, name: str) -> None:
        self.tree, self.spaces = tree, Spaces(tree, name)

    def kernel(self) -> Kernel:
        parts = [*self._types(), *self._constants(), *self._hoisted()]
        parts += [self._function(one) for one in self.spaces.instances[:-1]]
        parts.append(self._entry(self.spaces.instances[-1]))
        text = ATTRIBUTE.sub("__local", "\n".join(parts))
        return Kernel(_names(text) + text, sum(_bytes(one) for one in self._variables(GLOBAL)))

    # ---- what stands at file scope --------------------------------------------------------------------------------

    def _types(self) -> list[str]:
        edits = [
            (begin(one), space)
            for fields in self.tree.fields.values()
            for one in fields
            if (space := self.spaces.fields.get(one["id"]))
        ]
        wanted = [node for node in self.tree.types if node.get("name") not in OWN_TYPES]
        return [
            self._slice(begin(node), self.tree.text.index(";", end(node)) + 1, sorted(set(edits))) for node in wanted
        ]

    def _variables(self, space: str) -> list[Node]:
        return [node for number, node in self.tree.variables.items() if self.spaces.used.get(number) == space]

    def _constants(self) -> list[str]:
        texts = (self.tree.text[begin(node) : end(node)] for node in self._variables(CONSTANT))
        return [f"{CONSTANT}{re.sub(r'^static ', '', text)};" for text in texts]

    def _hoisted(self) -> list[str]:
        return [
            f"typedef struct {{\n{fields}}} {name}_struct;"
            for space, name in ((LOCAL, SHARED), (GLOBAL, KEPT))
            if (fields := "".join(self._field(node) for node in self._variables(space)))
        ]

    def _field(self, node: Node) -> str:
        text = self.tree.text[begin(node) : end(node)]
        return f"  {ATTRIBUTE.sub('', text.removeprefix('static ')).strip()};\n"

    # ---- functions ------------------------------------------------------------------------------------------------

    def _function(self, one: Instance) -> str:
        first, function = begin(one.function), one.function
        text = self._slice(first, end(function), one.edits, one.renamed, self._hidden(one))
        return re.sub(r"__attribute__\(\((unused|always_inline|, )+\)\) ", "", text)

    def _hidden(self, one: Instance) -> dict[int, tuple[int, str]]:
        """The list of parameters with those that it takes besides: what the opening bracket becomes."""
        if not one.hidden:
            return {}
        place = self.tree.text.index("(", one.function["loc"]["offset"])
        kinds = {SHARED: LOCAL, KEPT: GLOBAL}
        more = ", ".join(f"{kinds[name]}{name}_struct *{name}" for name in sorted(one.hidden))
        if parameters(one.function):
            return {place: (place + 1, f"({more}, ")}
        return {place: (self.tree.text.index(")", place), f"({more}")}

    def _entry(self, one: Instance) -> str:
        params, *pointers = parameters(one.function)
        items = self.tree.constants["TW_ITEMS_OF_GROUP"]
        kept = f", {GLOBAL}{KEPT}_struct *{KEPT}" if KEPT in one.hidden else ""
        memories = ", ".join(f"{GLOBAL}uchar *tw_memory_{i}" for i in range(len(pointers)))
        declared = "".join(self._pointer(i, node) for i, node in enumerate(pointers))
        kind = f"{LOCAL}{SHARED}_struct"
        shared = f"  {kind} {SHARED}_here;\n  {kind} *const {SHARED} = &{SHARED}_here;\n"
        body = body_of(one.function) or {}
        given = self.tree.text[begin(params) : end(params)]
        edits = [edit for edit in one.edits if edit[0] > begin(body)]
        return f"""\
typedef struct {{
  ulong at[{len(pointers)}];
}} tw_places;
__kernel __attribute__((reqd_work_group_size({items}, 1, 1)))
void {ENTRY}({given}, {memories}, const tw_places tw_at{kept}) {{
{shared if SHARED in one.hidden else ""}{declared}{self._slice(begin(body) + 1, end(body), edits, one.renamed)}
"""

    def _pointer(self, number: int, node: Node) -> str:
        """A pointer of the kernel: so far into one of the device's memories."""
        declared = self.tree.text[begin(node) : end(node)]
        kind = declared[: declared.rindex("*") + 1]
        return f"  {GLOBAL}{declared} = ({GLOBAL}{kind})(tw_memory_{number} + tw_at.at[{number}]);\n"

    def _slice(
        self, first: int, last: int, edits: Sequence[tuple[int, str]], *changes: Mapping[int, tuple[int, str]]
    ) -> str:
        """A part of the text with what is inserted and replaced."""
        ops = [(place, place, text) for place, text in edits]
        ops += [(place, behind, text) for each in changes for place, (behind, text) in each.items()]
        made, at = "", first
        for place, behind, text in sorted(dict.fromkeys(ops), key=lambda op: (op[0], op[1])):
            if first <= place < last:
                made += self.tree.text[at:place] + text
                at = behind
        return made + self.tree.text[at:last]


def _bytes(node: Node) -> int:
    """Of an array of integers."""
    kind = node["type"]["qualType"]
    name = present(re.match(r"u?int(\d+)_t", kind), kind, "is kept from launch to launch, and is no integer")
    return int(name[1]) // 8 * math.prod(int(size) for size in re.findall(r"\[(\d+)\]", kind))


def _names(text: str) -> str:
    """What stands before: other names for functions that it uses."""
    used = [name for name in FUNCTIONS if re.search(rf"\b{name}f\(", text)]
    doubles = DOUBLES if re.search(r"\bdouble\b", text) else ""
    return doubles + "".join(f"#define {name}f {name}\n" for name in used)
