"""Addresses and sizes of memories stand in descriptions of platforms, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tilewright import targets
from tilewright.codegen.memory_regions import FILE, memory_regions
from tilewright.errors import InternalError
from tilewright.target.target import Target

pytestmark = pytest.mark.fast

CLUSTERS = [name for name in targets.names() if targets.find(name).links]
LINE = re.compile(r"^\s*(\w+)\s*\([rwx]+\)\s*:\s*ORIGIN\s*=\s*(\w+),\s*LENGTH\s*=\s*(\w+)", re.MULTILINE)


def regions(script: str) -> dict[str, tuple[int, int]]:
    """Where the regions of a linker script begin, and their bytes."""
    return {name: (int(origin, 0), int(length, 0)) for name, origin, length in LINE.findall(script)}


def simulated(target: Target) -> dict[str, tuple[int, int]]:
    platform = target.platform
    return {memory.name.upper(): (memory.base, memory.size) for memory in platform.memories}


@pytest.mark.parametrize("name", CLUSTERS)
def test_targets_have_the_memories_of_platforms(name: str) -> None:
    target = targets.find(name)
    found = {memory.name: (memory.bytes or 0) + memory.base_offset for memory in target.memories}
    assert found == {memory: simulated(target)[memory][1] for memory in found}


@pytest.mark.parametrize("name", CLUSTERS)
def test_programs_are_linked_into_them(name: str) -> None:
    target = targets.find(name)
    script = regions(memory_regions(target))
    for memory in (memory for memory in target.memories if memory.section):
        base, size = simulated(target)[memory.name]
        assert script.pop(memory.name) == (base + memory.base_offset, size - memory.base_offset)
    assert not script


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_other_file_states_an_address_of_a_memory(name: str) -> None:
    """Scripts include the regions; boot code of measurements has the end of L1 from them."""
    target = targets.find(name)
    files = [path for path in target.runtime_files().values() if path.suffix in (".ld", ".S")]
    files += [target.bench_file(one) for one in ("boot.S", "link.ld")]
    ends = {base + size for base, size in simulated(target).values()}
    for path in files:
        text = path.read_text()
        assert "MEMORY" not in text, path
        assert not ends & {int(word, 16) for word in re.findall(r"0x[0-9a-f]+", text.lower())}, path
    for path in (target.folder / "runtime" / "link.ld", target.bench_file("link.ld")):
        assert f"INCLUDE {FILE}" in path.read_text()


@pytest.mark.parametrize("name", CLUSTERS)
def test_scripts_hold_the_runtime_to_its_variables(name: str) -> None:
    """What the planner leaves of L1 for them stands in the target; the linker objects where they are more."""
    target = targets.find(name)
    assert f"\ntw_state_bytes = {target.agents.state};\n" in memory_regions(target)
    scripts = [path.read_text() for path in target.runtime_files().values() if path.suffix == ".ld"]
    held = f"ASSERT(tw_state_end - ORIGIN({target.paths.tiles.name}) <= tw_state_bytes, "
    assert [script.count(held) for script in scripts if ".state)" in script] == [1]


def test_a_memory_that_the_platform_has_not_is_refused() -> None:
    quad = targets.find("quad")
    tcdm, ram = quad.memories
    with pytest.raises(InternalError, match="memory RAM: has 2097152 bytes, on the platform 1048576"):
        memory_regions(replace(quad, memories=(tcdm, replace(ram, bytes=2 << 20))))
    with pytest.raises(InternalError, match="memory rom: is not among tcdm, ram"):
        memory_regions(replace(quad, memories=(tcdm, replace(ram, name="ROM"))))
