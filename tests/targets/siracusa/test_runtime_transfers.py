"""The runtime's transfers on this machine, with registers that a model answers for: whatever is asked for arrives, and
no command is longer than its engine allows. The sources are the target's own; only addresses of registers change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.targets.pulp.machine import SIRACUSA
from tilewright.toolchain.compiler import BARE, find_compiler

RUNTIME = SIRACUSA.runtime_files()
MEMORY = 4096
SECONDS = 600

EVENTS = """\
#include <stdint.h>
#include "limits.h"
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#define TW_EVENT_DMA 0u
#define TW_EVENT_UNIT 0u
#define TW_ELW ""
static uint32_t event_register;
#define TW_EVENT_REGISTER(offset) event_register
static inline void tw_event_mask_set(uint32_t lines) { (void)lines; }
static inline void tw_event_mask_clear(uint32_t lines) { (void)lines; }
static inline void tw_event_wait(void) {}
static inline void tw_barrier_all(void) {}
static inline int tw_is_dma_core(void) { return 1; }
"""

MODEL = f"""\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "limits.h"

static unsigned char inner[{MEMORY}], outer[{MEMORY}], wanted[{MEMORY}];
static unsigned commands;

static inline void fail(const char *what, unsigned value) {{
  printf("%s %u\\n", what, value);
  exit(1);
}}

static inline void fill(void) {{
  for (unsigned i = 0; i < {MEMORY}; i++) {{
    inner[i] = (unsigned char)(i * 7 + 1);
    outer[i] = (unsigned char)(i * 13 + i / 256 + 5);
  }}
}}

/* Bytes between the memories: together in the inner one, rows with a stride in the outer one. */
static inline void copy(int inward, uint32_t in, uint32_t out, uint32_t bytes, uint32_t row, uint32_t stride) {{
  commands++;
  if (bytes == 0) fail("empty transfer", commands);
  if (bytes % row) fail("bytes that are no whole rows", bytes);
  for (uint32_t i = 0; i < bytes; i++) {{
    unsigned char *to = inward ? &inner[in + i] : &outer[out + i / row * stride + i % row];
    *to = inward ? outer[out + i / row * stride + i % row] : inner[in + i];
  }}
}}

static inline void compare(const unsigned char *found, const char *what, unsigned value) {{
  if (memcmp(found, wanted, {MEMORY})) fail(what, value);
}}
"""

DMA = """\
#include "model.h"
static uint32_t words[5], used;

/* A command is complete when its last word is there: the third, or the fifth of one with rows. */
static void execute(void) {
  const int rows = words[0] >> 19 & 1;
  if (used < (rows ? 5u : 3u)) return;
  const uint32_t bytes = words[0] & 0x1ffffu;
  if (bytes > TW_LONGEST_TRANSFER) fail("too long a transfer:", bytes);
  copy(words[0] >> 17 & 1, words[1], words[2], bytes, rows ? words[3] : bytes, rows ? words[4] : 0);
  used = 0;
}
static uint32_t *command(void) {
  execute();
  return &words[used++];
}
static uint32_t status;
#include "dma.c"

static void *at(uint32_t offset) { return (void *)(uintptr_t)offset; }

int main(void) {
  for (uint32_t row = 1; row <= 70; row++)
    for (uint32_t count = 0; count <= 7; count++) {
      const uint32_t stride = row + 3;
      fill();
      memcpy(wanted, inner, sizeof wanted);
      for (uint32_t i = 0; i < count * row; i++) wanted[40 + i] = outer[9 + i / row * stride + i % row];
      tw_dma_in_rows(at(40), at(9), count, row, stride);
      execute();
      compare(inner, "in rows of", row);
      fill();
      memcpy(wanted, outer, sizeof wanted);
      for (uint32_t i = 0; i < count * row; i++) wanted[9 + i / row * stride + i % row] = inner[40 + i];
      tw_dma_out_rows(at(9), at(40), count, row, stride);
      execute();
      compare(outer, "out rows of", row);
      fill();
      memcpy(wanted, inner, sizeof wanted);
      for (uint32_t i = 0; i < count * row; i++)
        wanted[40 + i / row * (row + 5) + i % row] = outer[9 + i / row * stride + i % row];
      tw_dma_in_strided(at(40), row + 5, at(9), stride, count, row);
      execute();
      compare(inner, "in apart of", row);
    }
  printf("%u\\n", commands);
  return 0;
}
"""

L3 = """\
#include "model.h"
static uint32_t registers[0x400], waiting;

/* Transfers are done when somebody looks at the status, one at a time: who does not wait would be seen. */
static uint32_t *touch(uint32_t offset) {
  uint32_t *const c = &registers[CHANNEL_AT / 4];
  for (int out = 0; out < 2; out++) {
    uint32_t *const d = c + 3 * out;
    if (d[2] != 0x10u) continue;
    d[2] = 0;
    if (c[6] != (out ? 0u : 4u)) fail("the other direction's command", c[6]);
    if (d[1] > TW_L3_LONGEST_TRANSFER) fail("too long a transfer:", d[1]);
    copy(!out, d[0], c[7], d[1], ROWS_ON ? c[11] : d[1], ROWS_ON ? c[12] : 0);
    waiting++;
    if (waiting > TW_L3_QUEUE) fail("more transfers than the queue holds:", waiting);
  }
  if (offset == CHANNEL_AT + 0x24) {
    if (waiting > 0) waiting--;
    registers[offset / 4] = waiting ? 1 | (waiting - 1) << 1 : 0;
  }
  return &registers[offset / 4];
}
const uint8_t tw_l3_image[1], tw_l3_image_end[1];
"""

STAGING = (
    L3
    + """
#include "l3.c"

int main(void) {
  for (uint32_t bytes = 0; bytes <= 200; bytes++) {
    fill();
    memcpy(wanted, inner, sizeof wanted);
    memcpy(wanted + 40, outer + 8, bytes);
    tw_l3_stage((void *)40, 8, bytes);
    tw_l3_stage_wait();
    compare(inner, "stages", bytes);
    fill();
    memcpy(wanted, outer, sizeof wanted);
    memcpy(wanted + 8, inner + 40, bytes);
    tw_l3_write(8, (void *)40, bytes);
    tw_l3_stage_wait();
    compare(outer, "writes", bytes);
  }
  printf("%u\\n", commands);
  return 0;
}
"""
)

TILES = (
    L3
    + """
#include "dma.h"
uint32_t tw_dma_begin(void) { return 0; }
void tw_dma_wait(uint32_t id) { (void)id; }
void tw_dma_out(void *l2, const void *l1, uint32_t bytes) { (void)l2, (void)l1, (void)bytes; }
#include "l3_tiles.c"

int main(void) {
  for (uint32_t row = 1; row <= 70; row++)
    for (uint32_t count = 0; count <= 7; count++) {
      const uint32_t stride = row + 6;
      fill();
      memcpy(wanted, inner, sizeof wanted);
      for (uint32_t i = 0; i < count * row; i++) wanted[40 + i] = outer[8 + i / row * stride + i % row];
      tw_l3_wait(tw_l3_load((void *)40, 8, count, row, stride));
      touch(0);
      compare(inner, "loads rows of", row);
      fill();
      memcpy(wanted, outer, sizeof wanted);
      for (uint32_t i = 0; i < count * row; i++) wanted[8 + i / row * stride + i % row] = inner[40 + i];
      tw_l3_wait(tw_l3_store(8, (void *)40, count, row, stride));
      touch(0);
      compare(outer, "stores rows of", row);
    }
  printf("%u\\n", commands);
  return 0;
}
"""
)

COMMAND, STATUS = "(*(volatile uint32_t *)TW_DMA)", "(*(volatile uint32_t *)(TW_DMA + 4))"
HYPER, TILE_HYPER = (
    "(*(volatile uint32_t *)(TW_UDMA + (offset)))",
    "(*(volatile uint32_t *)(TW_UDMA + 0x300 + (offset)))",
)
CASES = {
    "dma": ("dma.c", DMA, {COMMAND: "(*command())", STATUS: "status"}, ()),
    "l3": ("l3.c", STAGING, {HYPER: "(*touch(offset))"}, ("-DCHANNEL_AT=0x280", "-DROWS_ON=0")),
    "l3_tiles": ("l3_tiles.c", TILES, {TILE_HYPER: "(*touch(offset))"}, ("-DCHANNEL_AT=0x0", "-DROWS_ON=c[10]")),
}


def without_kernels(path: Path) -> str:
    """A source of the runtime without what it shares with kernels."""
    return re.sub(r'#include "\.\./kernels/.*"\n', "", path.read_text())


def build(folder: Path, name: str, longest: int) -> Path:
    """The runtime's source around its model, for an engine with very short transfers."""
    source, program, registers, flags = CASES[name]
    text = without_kernels(RUNTIME[source])
    for address, model in registers.items():
        assert address in text, f"{source} has its registers elsewhere: mend this test"
        text = text.replace(address, model)
    for name, path in RUNTIME.items():
        if name.endswith(".h") and "/" not in name:
            (folder / name).write_text(without_kernels(path))
    limits = {
        "TW_LONGEST_TRANSFER": longest, "TW_DMA_STRIDED": 1, "TW_L3_LONGEST_TRANSFER": longest, "TW_L3_QUEUE": 8,
    }  # fmt: skip
    lines = [f"#define {macro} {value}u" for macro, value in limits.items()]
    (folder / "limits.h").write_text("\n".join(["#ifndef TW_LIMITS_H", "#define TW_LIMITS_H", *lines, "#endif", ""]))
    (folder / "events.h").write_text(f"#ifndef TW_EVENTS_H\n#define TW_EVENTS_H\n{EVENTS}#endif\n")
    (folder / "model.h").write_text(MODEL)
    (folder / source).write_text(text)
    (folder / "program.c").write_text(program)
    find_compiler().run(
        [
            "-std=gnu99",
            "-O1",
            "-DTW_CORES=8",
            "-Wno-int-to-void-pointer-cast",
            BARE,
            *flags,
            "program.c",
            "-o",
            "program",
        ],
        folder,
    )
    return folder / "program"


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("longest", [16, 32, 48])
@pytest.mark.parametrize("name", CASES)
def test_rows_longer_than_a_transfer_arrive(name: str, longest: int, tmp_path: Path) -> None:
    """Also those that are just as long, shorter, none at all; where the last row is left over, and where none is."""
    program = build(tmp_path, name, longest)
    done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) > 200
