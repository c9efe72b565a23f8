"""What the memories of a machine are for follows from who reaches them and from paths of links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.errors import InternalError
from tilewright.target.memory import Link, Memory, paths
from tilewright.targets.quad.target import TARGET as QUAD
from tilewright.targets.siracusa.target import TARGET as SIRACUSA

pytestmark = pytest.mark.fast


def test_paths_of_one_and_two_links() -> None:
    found = paths(SIRACUSA.memories, SIRACUSA.links)
    assert [memory.name for memory in found.memories] == ["L1", "L2", "WMEM", "L3"]
    assert [memory.name for memory in found.beside] == ["WMEM"]


def test_two_are_enough() -> None:
    found = paths(QUAD.memories, QUAD.links)
    assert [memory.name for memory in found.memories] == ["TCDM", "RAM"]


def test_any_number_beside() -> None:
    banks = [Memory(f"BANK{number}", 65536) for number in range(3)]
    links = [replace(QUAD.links[0], outer=bank.name) for bank in banks]
    found = paths((*QUAD.memories, *banks), (*QUAD.links, *links))
    assert list(found.beside) == banks
    assert [memory.name for memory in found.memories] == ["TCDM", "RAM", "BANK0", "BANK1", "BANK2"]


def test_without_a_path_nothing_of_a_network_is_put_there() -> None:
    found = paths((*QUAD.memories, Memory("ROM", 65536)), QUAD.links)
    assert [memory.name for memory in found.memories] == ["TCDM", "RAM"]


def test_nothing_fills_the_memory_of_the_tiles() -> None:
    links = [Link("slow", "L3", "L2", longest=16, read=1, write=1)]
    with pytest.raises(InternalError, match="no link fills a memory that cores work in"):
        paths(SIRACUSA.memories, links)
