"""What the planner leaves of L1 for the runtime's variables holds all of them: a network may need every file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.accelerator.folders import QVANILLA
from tilewright import targets
from tilewright.accelerator.attach import with_accelerators
from tilewright.codegen import cluster_program
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_cross_compiler

UNITS = (str(QVANILLA),) * 2
CASES = [
    ("siracusa", ()), ("siracusa", UNITS), ("quad", ()), ("quad", UNITS), ("snitch", ()), ("snitch", UNITS),
    ("mempool", ()),
]  # fmt: skip


def variables(assembly: str, section: str) -> int:
    """Bytes of a section."""
    found, here = 0, False
    for line in assembly.splitlines():
        if name := re.match(r"\s*\.(?:section\s+)?([\w.]+)", line):
            here = name[1] == section if ".section" in line else here and name[1] not in ("text", "data", "bss")
        if here and (size := re.match(r"\s*\.(?:zero|space)\s+(\d+)", line)):
            found += int(size[1])
    return found


def all_variables(target: Target, folder: Path) -> int:
    files = cluster_program.files(target)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    section, flags = f"{target.paths.tiles.section}.state", [*target.flags, "-DTW_CORES=1", "-I", "runtime/libc", "-S"]
    found = sum(variables(text, section) for name, text in files.items() if name.endswith(".S"))
    for name in (name for name, text in files.items() if name.endswith(".c") and "TW_STATE" in text):
        find_cross_compiler().run([*flags, name, "-o", "out.s"], folder)
        found += variables((folder / "out.s").read_text(), section)
    return found


@pytest.mark.parametrize(("name", "accelerators"), CASES)
def test_there_is_room_for_all_variables(name: str, accelerators: tuple[str, ...], tmp_path: Path) -> None:
    target = with_accelerators(targets.find(name), accelerators)
    assert 32 <= all_variables(target, tmp_path) <= target.agents.state
