"""The kernel with Arm's driver: a driver of the same interface notes what it is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

HEADER = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
struct ethosu_driver;
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_async(struct ethosu_driver *drv, const void *data, const int bytes, BASE base,
                        const size_t *sizes, const int count, void *user);
int ethosu_wait(struct ethosu_driver *drv, bool block);
"""
BASES = ("uint64_t *const", "const uint64_t *")
"""Types of base addresses in releases of the driver: newer ones are free to change them."""
PROGRAM = r"""
#include <stdio.h>
#include <string.h>

#include "ethosu_driver.h"
#include "ethos_u_job.h"

void tw_ethos_u_job(const tw_ethos_u_job_params *params, const int32_t *stream, const uint8_t *weights,
                    const int8_t *const *x, int8_t *y, void *scratch);
void tw_ethos_u_job_finish(const tw_ethos_u_job_params *params, const int32_t *stream, const uint8_t *weights,
                           const int8_t *const *x, int8_t *y, void *scratch);
static int npu;
static const uint64_t *addresses;
struct ethosu_driver *ethosu_reserve_driver(void) { return (struct ethosu_driver *)&npu; }
void ethosu_release_driver(struct ethosu_driver *drv) { printf("released %d\n", drv == (struct ethosu_driver *)&npu); }
int ethosu_invoke_async(struct ethosu_driver *drv, const void *data, const int bytes, BASE base,
                        const size_t *sizes, const int count, void *user) {
  printf("%.4s %d %d %d %d %d\n", (const char *)data, bytes, count, (int)sizes[0], (int)sizes[1], (int)sizes[2]);
  printf("bank of %d\n", (int)sizes[3]);
  addresses = base;
  return drv != (struct ethosu_driver *)&npu || base[1] != base[2] || user != 0;
}
int ethosu_wait(struct ethosu_driver *drv, bool block) {
  char *arena = (char *)(uintptr_t)addresses[1];
  memcpy(arena + 16, arena + 4, 3); /* the job: results are the inputs */
  printf("waited %d\n", block);
  return drv != (struct ethosu_driver *)&npu;
}
int main(void) {
  static const int32_t input_at[] = {4}, input_bytes[] = {3}, result_at[] = {16}, result_bytes[] = {3};
  static const int32_t bank_bytes[] = {48};
  static const tw_ethos_u_job_params params = {10,       8,            5, 32,        0,
                                               1,        input_at,     input_bytes,  1,
                                               result_at, result_bytes, 1, bank_bytes};
  static const int8_t x[] = {7, -8, 9}, bank[48], *const inputs[] = {x, bank};
  static int32_t payload[10], arena[16];
  static const uint8_t weights[5];
  int8_t y[3];
  memcpy(payload, "COP1", 4);
  tw_ethos_u_job(&params, payload, weights, inputs, y, arena);
  puts("begun");
  tw_ethos_u_job_finish(&params, payload, weights, inputs, y, arena);
  printf("%d %d %d\n", y[0], y[1], y[2]);
  return 0;
}
"""


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("base", BASES)
def test_arms_driver_is_given_the_whole_payload_and_all_regions(base: str, tmp_path: Path) -> None:
    (tmp_path / "ethosu_driver.h").write_text(f"#define BASE {base}\n{HEADER}")
    (tmp_path / "main.c").write_text(PROGRAM)
    target = targets.find("cortex-m33+u55-128")
    kernel = target.kernel_file("ethos_u_job.c")
    folders = [f"-I{folder / 'kernels'}" for folder in target.folders]
    flags = [
        "-O2",
        "-fno-sanitize=all",
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-DTW_ETHOS_U_CORE_DRIVER",
        f"-I{tmp_path}",
        *folders,
    ]
    compiler, program = find_compiler(), tmp_path / "program"
    objects = compile_objects(dict.fromkeys([tmp_path / "main.c", kernel], flags), tmp_path, compiler)
    link_without_runtime(objects, [], program, compiler, ["-O2"])
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["COP1 40 4 5 32 32", "bank of 48", "begun", "waited 1", "released 1", "7 -8 9"]
