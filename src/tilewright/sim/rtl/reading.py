"""A device's Verilog as verilator reads it: its complaints with file and line, its modules' ports and parameters."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.rtl.ports import Port
from tilewright.sim.rtl.sources import folders, write_included
from tilewright.sim.rtl.words import WORDS

REFUSED = ("LATCH", "UNOPTFLAT", "MULTIDRIVEN", "IMPLICIT", "PINMISSING", "PINNOTFOUND", "MODDUP", "COMBDLY")
"""Warnings of verilator's that are errors here: the hardware would not be what simulation shows."""
FLAGS = ("-Wno-fatal", "-Wno-lint", "-Wno-style", *(f"-Wwarn-{name}" for name in REFUSED))
MEANINGS = {"LATCH": "a latch", "UNOPTFLAT": "a combinational loop", "MULTIDRIVEN": "a signal with several drivers"}
NAME_EXPECTED = re.compile(r"syntax error, unexpected .*, expecting IDENTIFIER.*\n(.*)\n( *\| *)\^")
"""The line with something else, and what is before it in the line below."""
LONGEST = 300
"""Seconds."""
SHOWN = 8
"""Lines of complaints."""


@dataclass(frozen=True)
class Module:
    """The top of a device."""

    name: str
    ports: dict[str, Port]
    parameters: tuple[str, ...]


@cache
def verilator() -> str:
    """The program."""
    found = shutil.which("verilator")
    if found is None:
        raise CompileError("verilator", "is not installed: devices in Verilog need it", "apt-get install verilator")
    return found


@cache
def version() -> str:
    return run([verilator(), "--version"], Path.cwd()).stdout.strip()


@cache
def includes() -> Path:
    """Where verilated.h lies."""
    said = run([verilator(), "--getenv", "VERILATOR_ROOT"], Path.cwd()).stdout.strip()
    return Path(said) / "include"


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LONGEST, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(words[0], f"cannot be run: {error}", "apt-get install verilator") from None


def read_module(
    sources: Sequence[Path], name: str, where: str, parameters: Sequence[str] = (),
    included: Mapping[str, str] = MappingProxyType({}),
) -> Module:  # fmt: skip
    """The module of that name, with these parameters set (`-GNAME=VALUE`)."""
    with tempfile.TemporaryDirectory() as draft:
        write_included(included, Path(draft))
        made = Path(draft) / "module.xml"
        words = [verilator(), "--xml-only", "--xml-output", str(made), *FLAGS, *parameters, "--top-module", name]
        done = run([*words, *include_folders(folders(sources)), *map(str, sources)], Path(draft))
        check_said(done, sources, name, where)
        return _module(ElementTree.parse(made).getroot(), name)


def include_folders(places: Sequence[Path]) -> list[str]:
    """The one in which verilator runs comes first."""
    return ["+incdir+.", *(f"+incdir+{place}" for place in places)]


def check_said(done: subprocess.CompletedProcess[str], sources: Sequence[Path], name: str, where: str) -> None:
    """What verilator says against a device is an error, in its own words."""
    text = done.stderr + done.stdout
    if done.returncode == 0 and not re.search(r"^%Warning-(?:" + "|".join(REFUSED) + ")", text, re.MULTILINE):
        return
    for place in folders(sources):
        text = text.replace(f"{place}/", "")
    lines = _complaints(text)
    if "Specified --top-module" in text:
        known = ", ".join(_names(sources)) or "none"
        raise CompileError(where, f"has no module {name}; it has {known}", 'name it: rtl=Rtl(top="...")')
    kinds = [meaning for kind, meaning in MEANINGS.items() if f"%Warning-{kind}" in text]
    hint = "verilator's message names file, line and column"
    if kinds:
        hint = f"verilator finds {' and '.join(kinds)}"
    elif (taken := _word_for_name(text)) in WORDS:
        hint = f"a name should stand there; '{taken}' is a word of SystemVerilog, as which all Verilog is read"
    raise CompileError(where, "verilator refuses it:\n    " + "\n    ".join(lines), hint)


def _word_for_name(text: str) -> str:
    """What verilator first finds where a name should be: a word, or what is behind a comma that is one too many."""
    if (found := NAME_EXPECTED.search(text)) is None:
        return ""
    word = re.match(r"\w*", found[1][len(found[2]) :])
    return word[0] if word else ""


def _complaints(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and "Exiting due to" not in line]
    noise = ("... For", "... See", "... Use", "... Suggest")
    first = next((at for at, line in enumerate(lines) if line.startswith("%")), 0)
    return [line for line in lines[first:] if not line.lstrip(" :").startswith(noise)][:SHOWN]


def _names(sources: Sequence[Path]) -> list[str]:
    texts = (path.read_text(errors="replace") for path in sources)
    return [name for text in texts for name in re.findall(r"^\s*module\s+(\w+)", text, re.MULTILINE)]


def _module(root: ElementTree.Element, name: str) -> Module:
    widths = {kind.get("id"): _bits(kind) for kind in root.iter("basicdtype")}
    found = next(one for one in root.iter("module") if one.get("topModule") == "1")
    ports = {
        str(var.get("origName")): Port(str(var.get("dir")), widths.get(var.get("dtype_id")))
        for var in found.findall("var")
        if var.get("dir") in ("input", "output")
    }
    parameters = tuple(str(var.get("origName")) for var in found.findall("var") if var.get("param") == "true")
    return Module(name, ports, parameters)


def _bits(kind: ElementTree.Element) -> int:
    left, right = kind.get("left"), kind.get("right")
    if left is None or right is None:
        return {"int": 32, "integer": 32, "byte": 8, "shortint": 16, "longint": 64}.get(str(kind.get("name")), 1)
    return abs(int(left) - int(right)) + 1
