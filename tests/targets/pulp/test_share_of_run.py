"""The parts of a run that cores take are all of it, for elements of any size: on this machine, a core at a time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.targets.pulp.machine import SIRACUSA
from tilewright.toolchain.compiler import BARE, find_compiler

CLUSTER = """\
#include <stdint.h>
typedef struct {
  int32_t first, end;
} tw_share;
static int32_t core;
static inline int32_t tw_core(void) { return core; }
static inline tw_share tw_share_of(int32_t count) {
  return (tw_share){count * core / TW_CORES, count * (core + 1) / TW_CORES};
}
"""
PROGRAM = """\
#include <stdio.h>

#include "share_of_run.h"

int main(void) {
  for (int32_t bytes = 1; bytes <= 8; bytes *= 2)
    for (int32_t count = 0; count < 3000; count++) {
      int32_t end = 0;
      for (core = 0; core < TW_CORES; core++) {
        const tw_share share = tw_share_of_run(count, bytes);
        if (share.first != end || share.end < end) return printf("%d of %d bytes, core %d", count, bytes, core), 1;
        end = share.end;
      }
      if (end != count) return printf("%d of %d bytes: up to %d", count, bytes, end), 1;
    }
  return 0;
}
"""


@pytest.mark.parametrize("cores", [2, 8])
def test_parts_are_all_of_it(cores: int, tmp_path: Path) -> None:
    (tmp_path / "cluster.h").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "parts.c").write_text(PROGRAM, encoding="utf-8")
    kernels = str(SIRACUSA.folder.parent / "pulp" / "kernels")
    find_compiler().run(
        ["-O1", BARE, f"-DTW_CORES={cores}", "-I", ".", "-I", kernels, "parts.c", "-o", "parts"], tmp_path
    )
    ran = subprocess.run([str(tmp_path / "parts")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
