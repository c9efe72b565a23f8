"""`tilewright sim PROGRAM [--platform NAME] [--json]` is read without the parser, to the same end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.assembling import assemble, elf_bytes
from tests.support.command import Command
from tilewright.cli.plain_sim import plain_sim

SHOW_LOADED = """
import sys
from tilewright.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(ended.code, sorted({"typer", "pydantic"} & set(sys.modules)))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Ends with the code 7 where there is memory at its address: on siracusa, not on rv32."""
    code = assemble("li a0, 0x1a1040a0\n li a1, 0x80000007\n sw a1, 0(a0)")
    (tmp_path / "ends.elf").write_bytes(elf_bytes(code, 0x1C00_0000))
    return tmp_path / "ends.elf"


@pytest.mark.parametrize(("platform", "code"), [("rv32", 2), ("siracusa", 7)])
def test_as_the_parser_reads_it(command: Command, program: Path, platform: str, code: int) -> None:
    plain = command("sim", program, "--platform", platform, "--json")
    parsed = command("sim", "--json", "--platform", platform, program)
    assert (plain.code, plain.json) == (parsed.code, parsed.json)
    assert plain.code == code
    assert command("sim", program, "--platform", platform).err == command("sim", f"--platform={platform}", program).err


def test_without_loading_the_parser(program: Path) -> None:
    words = [sys.executable, "-c", SHOW_LOADED, "sim", str(program)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "7 []\n"


@pytest.mark.parametrize(
    "words",
    [
        [], ["sim"], ["sim", "--json"], ["sim", "-h"], ["sim", "a.elf", "--platform"], ["sim", "a.elf", "--profile"],
        ["sim", "a.elf", "--platform", "--json"], ["sim", "a.elf", "b.elf"], ["run", "a.onnx"], ["sim", "a", "--help"],
    ],
)  # fmt: skip
def test_other_words_are_the_parsers(words: list[str]) -> None:
    assert plain_sim(words) is None
