"""Folders of instructions for tests."""

from __future__ import annotations

from pathlib import Path

from tests.targets.rv32.machine import LARGE
from tilewright.bringup.skeleton import new_instruction
from tilewright.target.settings import Settings, with_options

EXAMPLES = Path(__file__).parents[2] / "examples"
DOT4, REQUANT, POPCOUNT = (str(EXAMPLES / f"instruction_{name}") for name in ("dot4", "requant", "popcount"))

GOOD = {
    "name": '"twice"', "opcode": '"custom-1"', "operands": '["rd", "rs1"]', "semantics": '"rs1.u32 + rs1.u32"',
}  # fmt: skip


def written(folder: Path, **fields: str) -> str:
    """A folder with a declaration: a good one but for these fields, as they stand in TOML."""
    folder.mkdir(exist_ok=True)
    lines = [f"{name} = {value}" for name, value in {**GOOD, **fields}.items() if value]
    (folder / "instruction.toml").write_text("\n".join(lines) + "\n")
    return str(folder)


def with_own(*places: str) -> Settings:
    return with_options(LARGE, {"instructions": list(places)})


def of_pattern(folder: Path, pattern: str, funct3: int = 7) -> str:
    """A folder with the declaration that `instruction new --implements` writes, beside those of the examples."""
    path = new_instruction(pattern, folder / pattern, pattern)
    path.write_text(path.read_text().replace("funct3 = 0", f"funct3 = {funct3}"))
    return str(folder / pattern)
