"""Arrays in files: whatever becomes of their pages, they hold what was written."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from tilewright.toolchain import mapped_arrays
from tilewright.toolchain.mapped_arrays import release, zeros

pytestmark = pytest.mark.fast


def test_pages_that_are_given_back_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_arrays, "LEAST", 4096)
    made = zeros((3, 5000), np.uint16)
    assert mapped_arrays._mapping(made) is not None
    assert not made.any()
    made[:] = np.arange(15000).reshape(3, 5000)
    for part in (made, made[1:, 7:4000], made.reshape(-1)[::2], made[:0]):
        release(part)
        np.testing.assert_array_equal(made.reshape(-1), np.arange(15000))


def test_what_is_small_or_finds_no_room_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    assert mapped_arrays._mapping(zeros((3,), np.float32)) is None
    monkeypatch.setattr(mapped_arrays.os, "posix_fallocate", full)
    assert mapped_arrays._mapping(zeros((1 << 20,), np.float32)) is None


def test_pages_of_a_private_copy_are_nobodys_to_give_back(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file:
        copied = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        read = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    copied[5000] = 7
    release(copied)
    assert copied[5000] == 7
    assert mapped_arrays._mapping(read[100:]) is not None
    release(read[100:])
    release(np.arange(4))
    assert not read.any()
