"""`tilewright accelerator new` and `instruction new`: a folder that runs at once."""

from __future__ import annotations

import json
from pathlib import Path

from tilewright.accelerator.check_declaration import IDENTIFIER, LETTERS
from tilewright.accelerator.folder import C_MODEL, DECLARATION, PYTHON_MODEL, VERILOG
from tilewright.codegen.folder import write
from tilewright.errors import CompileError
from tilewright.instruction.declaration import DECLARATION as INSTRUCTION
from tilewright.instruction.patterns import PATTERNS
from tilewright.sim.rtl.words import WORDS

TEMPLATES = Path(__file__).parent / "skeleton"
OF_VERILOG = (
    ('cycles="macs / macs_per_cycle + 20"', 'cycles="2 * macs + 3 * m * n"'),
    ('    parameters={"macs_per_cycle": 4},\n', ""),
)
"""What the Verilog has otherwise: its time is what it is."""
FIRST = "dot4_s8"
"""The pattern of an instruction where nobody asks for another."""


def new_folder(name: str, folder: Path, in_c: bool = False, in_verilog: bool = False) -> list[Path]:
    """The files that were written."""
    if in_c and in_verilog:
        raise CompileError("--c and --rtl", "are two devices", "choose one")
    if not IDENTIFIER.fullmatch(name):
        raise CompileError(f"accelerator '{name}'", "is not a C name", LETTERS)
    if in_verilog and name in WORDS:
        raise CompileError(f"accelerator '{name}'", "is a word of SystemVerilog", "choose another name")
    _check_empty(folder)
    files = (DECLARATION, VERILOG[0] if in_verilog else C_MODEL if in_c else PYTHON_MODEL)
    texts = {
        file: (TEMPLATES / file).read_text().replace("NAME", name).replace("UPPER", name.upper()) for file in files
    }
    for old, new in OF_VERILOG if in_verilog else ():
        texts[DECLARATION] = texts[DECLARATION].replace(old, new)
    write(texts, folder)
    return [folder / file for file in files]


def new_instruction(name: str, folder: Path, pattern: str = FIRST) -> Path:
    """The declaration that was written, of a pattern of kernels."""
    if not IDENTIFIER.fullmatch(name):
        raise CompileError(f"instruction '{name}'", "is not a C name", LETTERS)
    if pattern not in PATTERNS:
        raise CompileError(
            f"--implements {pattern}", "is no pattern of the kernels", f"they have {', '.join(PATTERNS)}"
        )
    _check_empty(folder)
    found, text = PATTERNS[pattern], (TEMPLATES / INSTRUCTION).read_text()
    operands = f"[{', '.join(map(json.dumps, found.operands))}]"
    given = {"NAME": name, "SUMMARY": found.summary, "OPERANDS": operands, "SEMANTICS": found.semantics}
    for word, own in (given | {"PATTERN": pattern}).items():
        text = text.replace(word, own)
    write({INSTRUCTION: text}, folder)
    return folder / INSTRUCTION


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CompileError(str(folder), "exists and is not empty", "choose another name or --output")
