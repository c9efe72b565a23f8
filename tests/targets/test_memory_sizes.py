"""Sizes and addresses of memories stand in targets, linker scripts and platforms: they are the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.sim.platforms import find_platform
from tilewright.target.target import Target

pytestmark = pytest.mark.fast

CLUSTERS = [name for name in targets.names() if targets.find(name).cluster is not None]
OTHER_NAMES = {"WEIGHTS": "WMEM"}
"""What linker scripts call a memory that the target calls otherwise."""
LINE = re.compile(r"^\s*(\w+)\s*\([rwx]+\)\s*:\s*ORIGIN\s*=\s*(\w+),\s*LENGTH\s*=\s*(\w+)", re.MULTILINE)


def regions(script: Path) -> dict[str, tuple[int, int]]:
    """Where the regions of a linker script begin, and their bytes."""
    found = LINE.findall(script.read_text())
    return {OTHER_NAMES.get(name, name): (int(origin, 0), int(length, 0)) for name, origin, length in found}


def simulated(target: Target) -> dict[str, tuple[int, int]]:
    assert target.cluster is not None
    platform = find_platform(target.cluster.platform)
    return {memory.name.upper(): (memory.base, memory.size) for memory in platform.memories}


@pytest.mark.parametrize("name", CLUSTERS)
def test_platforms_have_the_memories_of_targets(name: str) -> None:
    target = targets.find(name)
    found = {memory.name: memory.bytes for memory in target.memories}
    assert found == {memory: simulated(target)[memory][1] for memory in found}


@pytest.mark.parametrize("name", CLUSTERS)
def test_networks_are_linked_into_the_memories_of_targets(name: str) -> None:
    target = targets.find(name)
    script = regions(target.folder / "runtime" / "memories.ld")
    assert script == {memory.name: simulated(target)[memory.name] for memory in target.memories if memory.section}


@pytest.mark.parametrize("name", CLUSTERS)
def test_kernels_are_measured_in_the_memories_of_targets(name: str) -> None:
    target = targets.find(name)
    assert target.cluster is not None
    script = regions(target.bench_file("link.ld"))
    (l1, size), state = simulated(target)[target.hierarchy.l1.name], script.pop("STATE", None)
    assert script
    assert script == {memory: simulated(target)[memory] for memory in script}
    if state is not None:
        assert state[1] == target.cluster.state
        assert l1 <= state[0] <= l1 + size - state[1]
