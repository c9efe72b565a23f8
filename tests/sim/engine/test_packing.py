"""A snapshot's memory comes back whatever its size and alignment are, and whatever the system makes of advice."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tilewright.sim.library import FLAGS, FOLDER
from tilewright.toolchain.compiler import BARE, build_program, find_compiler

IGNORED = """
#include <stddef.h>
#include <sys/mman.h>
static int ignored(void *data, size_t size, int advice) { (void)data; (void)size; (void)advice; return 0; }
#define madvise ignored
"""
"""As emulators of Linux do that tell the program it was followed."""

MAIN = """
#include "engine/packing.c"
#include <stdio.h>

enum { ROOM = 1 << 20, AROUND = 1 << 12, MANY = 3 * (1 << 16) + 5 };
static u8 room[ROOM], packed[2 * ROOM];

/* Zeros with a block of data in them or not, between bytes that nobody may touch. */
static int comes_back(size_t start, size_t size, size_t mark) {
  u8 *const data = room + AROUND + start;
  memset(room, 0x5a, sizeof room);
  memset(data, 0, size);
  if (mark < size) data[mark] = 7;
  const u8 *const end = pack(data, size, packed);
  memset(data, 0xff, size);
  int right = unpack(data, size, packed) == end && end == packed + packed_bytes(data, size);
  for (size_t i = 0; i < ROOM; i++) {
    const int inside = room + i >= data && room + i < data + size;
    right &= room[i] == (!inside ? 0x5a : room + i == data + mark ? 7 : 0);
  }
  return right;
}

int main(void) {
  const size_t starts[] = {0, 1, 4095, 65535}, sizes[] = {0, 1, 4096, 4097, 65535, 65536, 131072, MANY};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 8; j++)
      for (size_t mark = 0; mark <= MANY; mark += MANY / 3)
        if (!comes_back(starts[i], sizes[j], mark)) printf("%zu %zu %zu\\n", starts[i], sizes[j], mark);
  return 0;
}
"""


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("system", ["", IGNORED], ids=["followed", "ignored"])
def test_memory_comes_back(system: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(system + MAIN)
    flags = [*FLAGS, "-Wno-unused-function", f"-I{FOLDER}"]
    build_program([tmp_path / "main.c"], flags, [], tmp_path / "program", find_compiler(), ["-O1", BARE])
    assert subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout == ""
