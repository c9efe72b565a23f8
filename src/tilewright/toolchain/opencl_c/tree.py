"""The tree that clang makes of a kernel's C, as far as OpenCL C is made of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tilewright.errors import InternalError
from tilewright.records import dataclass
from tilewright.toolchain.compiler import LONGEST_RUN

Node = dict[str, Any]
"""As clang's JSON has it: `kind`, `inner` (its children), `type`, `range` and others."""

LOCAL = "address_space(3)"
"""In types of what a group shares."""
MEANT_FOR_LOOPS = re.compile(r"^#pragma clang .*$", re.MULTILINE)
LONGER = re.compile(r"(?<=[0-9a-fA-F])([uU]?)(ll|LL)\b")
"""OpenCL C has no `long long`: its `long` has 64 bits."""
WORDS = (
    "half", "kernel", "global", "local", "constant", "private", "generic", "pipe", "bool", "quad", "complex",
    "imaginary", "event_t", "sampler_t", "read_only", "write_only", "read_write", "uchar", "ushort", "uint", "ulong",
    r"(?:u?char|u?short|u?int|u?long|float|double|half)(?:2|3|4|8|16)", "all", "any", "bitselect", "clamp", "clz",
    "cross", "ctz", "degrees", "distance", "dot", "hadd", "length", "mad", "mad24", "mad_hi", "mad_sat", "max", "min",
    "mix", "mul24", "mul_hi", "nan", "normalize", "popcount", "radians", "rhadd", "rotate", "select", "shuffle",
    "shuffle2", "sign", "smoothstep", "step", "sub_sat", "add_sat", "upsample",
)  # fmt: skip
"""That mean something in OpenCL C and not in C."""
TAKEN = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")


def preprocessed(clang: Sequence[str], source: Path, includes: Sequence[Path]) -> str:
    """The text of a kernel with all that it includes, and nothing of the system."""
    found = [word for include in includes for word in ("-isystem", str(include))]
    text = _run([*clang, "-E", "-P", "-x", "c", "-std=c99", "-nostdinc", "-DTW_GPU_OPENCL", *found, str(source)])
    return TAKEN.sub(r"\g<0>_", LONGER.sub(r"\1L", MEANT_FOR_LOOPS.sub("", text)))


def tree_of(clang: Sequence[str], text: str, source: Path) -> Tree:
    """`source` is a file for the text, which has no line that includes another one."""
    source.write_text(text, encoding="utf-8")
    options = ["-target", "x86_64-linux-gnu", "-std=c99", "-ffreestanding", "-nostdinc", "-fno-builtin", "-w"]
    said = _run([*clang, "-x", "c", *options, "-fsyntax-only", "-Xclang", "-ast-dump=json", str(source)])
    return Tree(text, json.loads(said))


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_RUN)
    if done.returncode:
        raise InternalError("kernel", "is not C that OpenCL C can be made of:\n" + done.stderr[:2000])
    return done.stdout


@dataclass(frozen=True)
class Tree:
    text: str
    root: Node

    @cached_property
    def functions(self) -> dict[str, Node]:
        """Those that have a body."""
        found = (node for node in self.root["inner"] if node["kind"] == "FunctionDecl" and body_of(node))
        return {node["name"]: node for node in found}

    @cached_property
    def variables(self) -> dict[str, Node]:
        """Of the file, by their numbers."""
        return {node["id"]: node for node in self.root["inner"] if node["kind"] == "VarDecl"}

    @cached_property
    def types(self) -> list[Node]:
        """Of the file, in its order: what stands inside of another one comes with it."""
        kinds = ("TypedefDecl", "RecordDecl", "EnumDecl")
        found = [node for node in self.root["inner"] if node["kind"] in kinds and not node.get("isImplicit")]
        named = [span for node in found if node["kind"] == "TypedefDecl" for span in [_span(node)]]
        return [node for node in found if not any(first < _span(node)[0] <= last for first, last in named)]

    @cached_property
    def fields(self) -> dict[str, list[Node]]:
        """Of structs and unions, by what variables of them have as their types."""
        records = {node["id"]: node for node in walked(self.root) if node["kind"] == "RecordDecl"}
        named = {number: f"{node['tagUsed']} {node['name']}" for number, node in records.items() if "name" in node}
        # Where a struct is only named, its variables stand elsewhere.
        found = {name: _fields(records[number]) for number, name in named.items() if _fields(records[number])}
        for node in self.root["inner"]:
            if node["kind"] == "TypedefDecl":
                ids = [part["decl"]["id"] for part in walked(node) if part.get("decl", {}).get("id") in records]
                own = (_fields(records[ids[0]]) or found.get(named.get(ids[0], ""), [])) if ids else []
                found |= dict.fromkeys((node["name"], type_name(node)), own) if own else {}
        return found

    @cached_property
    def constants(self) -> dict[str, int]:
        """Of enumerations."""
        found = (node for node in walked(self.root) if node["kind"] == "EnumConstantDecl")
        return {node["name"]: int(part["value"]) for node in found for part in node.get("inner", ()) if "value" in part}

    def line(self, node: Node) -> str:
        first = begin(node)
        return self.text[self.text.rfind("\n", 0, first) + 1 : self.text.find("\n", first)].strip()


def _fields(record: Node) -> list[Node]:
    return [node for node in record.get("inner", ()) if node["kind"] == "FieldDecl"]


def _span(node: Node) -> tuple[int, int]:
    return begin(node), end(node)


def walked(node: Node) -> Iterator[Node]:
    """It and all below; what a loop lacks is an empty node."""
    yield node
    for child in node.get("inner", ()):
        if child:
            yield from walked(child)


def begin(node: Node) -> int:
    return int(node["range"]["begin"]["offset"])


def end(node: Node) -> int:
    """Behind its last letter."""
    last = node["range"]["end"]
    return int(last["offset"]) + int(last["tokLen"])


def body_of(function: Node) -> Node | None:
    return next((part for part in function.get("inner", ()) if part["kind"] == "CompoundStmt"), None)


def parameters(function: Node) -> list[Node]:
    return [part for part in function.get("inner", ()) if part["kind"] == "ParmVarDecl"]


def type_name(node: Node) -> str:
    """Without names for types that others have."""
    kind = node["type"]
    return str(kind.get("desugaredQualType", kind["qualType"]))


def is_pointer(node: Node) -> bool:
    if "type" not in node:
        return False
    return re.sub(r"\s*\b(const|restrict|volatile)\b", "", type_name(node)).rstrip().endswith(("*", "]")) and (
        "*" in type_name(node)
    )


def is_local(node: Node) -> bool:
    return LOCAL in node["type"]["qualType"]
