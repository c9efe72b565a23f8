"""What the memories of a platform are for follows from who reaches them and what links them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.errors import InternalError
from tilewright.target.memory import Link, Memory, hierarchy
from tilewright.targets.quad.target import TARGET as QUAD
from tilewright.targets.siracusa.target import TARGET as SIRACUSA

pytestmark = pytest.mark.fast


def test_four_uses() -> None:
    found = hierarchy(SIRACUSA.memories, SIRACUSA.links)
    assert [memory.name for memory in found.memories] == ["L1", "L2", "WMEM", "L3"]


def test_two_are_enough() -> None:
    found = hierarchy(QUAD.memories, QUAD.links)
    assert [memory.name for memory in found.memories] == ["TCDM", "RAM"]


@pytest.mark.parametrize("place", [0, 99])
def test_a_memory_that_nothing_would_be_put_into(place: int) -> None:
    links = list(SIRACUSA.links)
    links.insert(place, replace(links[0], inner="SPM2"))
    with pytest.raises(InternalError, match="nothing is put into"):
        hierarchy((*SIRACUSA.memories, Memory("SPM2", 65536)), links)


def test_nothing_fills_the_memory_of_the_tiles() -> None:
    links = [Link("slow", "L3", "L2", longest=16, read=1, write=1)]
    with pytest.raises(InternalError, match="no link fills a memory that cores work in"):
        hierarchy(SIRACUSA.memories, links)
