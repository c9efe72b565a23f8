"""Sizes and prices of caches: of every processor that is known, and of this machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.target import caches
from tilewright.target.processors import NATIVE, PROCESSORS

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", [NATIVE, *PROCESSORS])
def test_caches_get_larger_and_what_is_behind_them_dearer(name: str) -> None:
    found = caches.caches_of(name)
    sizes = [one.bytes for one in found.levels]
    assert sizes == sorted(set(sizes))
    private = found.private.bytes
    assert found.price(private) == 0.0 < found.price(private + 1) <= found.price(sizes[-1] + 1)


def test_this_machine_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (kind, level, size) in enumerate(
        (("Data", 1, "48K"), ("Instruction", 1, "32K"), ("Unified", 2, "2M"), ("Unified", 3, "3072K"))
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", str(level)), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(caches, "SYSTEM", tmp_path)
    caches.here.cache_clear()
    assert [one.bytes >> 10 for one in caches.caches_of(NATIVE).levels] == [48, 2048, 3072]
    monkeypatch.setattr(caches, "SYSTEM", tmp_path / "missing")
    caches.here.cache_clear()
    assert caches.caches_of(NATIVE) in caches.BY_PROCESSOR.values()
    caches.here.cache_clear()
