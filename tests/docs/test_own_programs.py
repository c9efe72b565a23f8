"""The page about programs of one's own: its files are built by its commands, run, and its memory maps are true."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tilewright.sim.platforms import PLATFORMS
from tilewright.sim.simulator import Simulator

PAGE = (ROOT / "docs" / "own_programs.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.M | re.S))
ZIG, GCC = re.findall(r"^(?:python -m ziglang|riscv64-unknown-elf-gcc) .*$", PAGE, re.M)


@pytest.mark.parametrize("command", [ZIG, GCC], ids=["zig", "gcc"])
def test_hello_world(tmp_path: Path, command: str) -> None:
    program, *words = shlex.split(command)
    if program != "python" and shutil.which(program) is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    subprocess.run([sys.executable if program == "python" else program, *words], cwd=tmp_path, check=True)
    with Simulator("microcontroller") as simulator:
        simulator.load(tmp_path / "hello.elf")
        report = simulator.run()
    assert report.stdout == "hello from the virtual SoC\n"
    assert report.exit_code == 3


@pytest.mark.fast
@pytest.mark.parametrize("name", ["microcontroller", "siracusa"])
def test_memory_maps(name: str) -> None:
    rows = re.findall(
        r"^\| (.*?) \| `(0x\w+)` \| (0x\w+) \|$", PAGE.partition(f"\n`{name}`:\n")[2].partition("`:\n")[0], re.M
    )
    platform = PLATFORMS[name]
    places = (*platform.memories, *platform.devices)
    assert [(word, int(at, 16), int(size, 16)) for word, at, size in rows] == [
        (one.name, one.base, one.size) for one in places
    ]
