"""Kernels of ITA alone, on a Snitch cluster or on ita_bench: their results, and the cycles of a second call."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from tests.sim.assembling import _programs
from tests.targets.ita.driver_programs import program
from tilewright.codegen.initialiser import initialiser
from tilewright.ir.op import Op
from tilewright.ir.types import type_of
from tilewright.sim.platforms.ita_bench import ita_bench
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.sim.simulator import Simulator
from tilewright.target.kernel import Kernel
from tilewright.targets import ita, quad

KERNELS = Path(ita.__file__).parent / "kernels"
INCLUDES = (KERNELS, KERNELS.parents[1] / "cluster" / "kernels", Path(quad.__file__).parent / "kernels")
TCDM = 0x1000_0000
VARIABLES = 0x1_D800
"""Where those of the program begin: in front of them is room for operands."""
MAIN = """
#include "{source}"
{runtime}
uint32_t cycles __attribute__((section(".data"))) = 0, places[14] __attribute__((section(".data"))) = {{0}};
static uint32_t now(void) {{
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value));
  return value;
}}
int main(void) {{{tables}
  static const {type} constants = {{{fields}}};
  static {type} params; /* in the TCDM, as targets have them */
  volatile uint32_t *const to = (volatile uint32_t *)&params;
  for (uint32_t i = 0; i < sizeof params / 4; i++) to[i] = ((const uint32_t *)&constants)[i];
  TW_CLEAR();
  {name}(&params, {arguments}); /* caches are warm the second time */
  TW_WAIT();
  const uint32_t began = now();
  {name}(&params, {arguments});
  TW_WAIT();
  cycles = now() - began;
  return 0;
}}
"""
RUNTIME = """
#define TW_CLEAR tw_ita_clear
#define TW_WAIT() while (TW_ITA_REGISTER(0x0c) != 0) continue
static uint32_t is_open;
void tw_accelerator_begin(void) {
  if (!is_open) return;
  TW_WAIT();
  tw_ita_clear();
  is_open = 0;
}
void tw_accelerator_room(void) { while ((int32_t)TW_ITA_REGISTER(0x04) < 0) continue; }
void tw_accelerator_commit(void) { TW_ITA_REGISTER(0x00) = 0; }
void tw_accelerator_leave_open(void) { is_open = 1; }
"""
"""What ITA's kernels find in a network's runtime."""
NO_RUNTIME = "#define TW_CLEAR()\n#define TW_WAIT()"


def call(
    kernel: Kernel, op: Op, arrays: list[np.ndarray], softmax_bits: int = 0, machine: str = "snitch"
) -> tuple[np.ndarray, int]:
    types = {name: type_of(array) for name, array in zip(op.operand_names(len(arrays)), arrays, strict=True)}
    (result,) = op.infer(types)
    types[op.results[0]] = result
    scratch = kernel.scratch_bytes(op, types)
    platform = SNITCH if machine == "snitch" else ita_bench(softmax_bits=softmax_bits)
    with Simulator(platform) as simulator:
        simulator.check(misuse=True)
        simulator.load(_built(kernel, op, types, bool(scratch), machine))
        at, places = 0, []
        for data in (*arrays, np.full(result.elements, 99, np.int8), np.zeros(max(scratch, 1), np.int8)):
            places.append(TCDM + at)
            simulator.write(TCDM + at, np.ascontiguousarray(data).tobytes())
            at = -(-(at + data.nbytes) // 128) * 128
        assert at <= VARIABLES
        simulator.write("places", np.array(places, "<u4").tobytes())
        simulator.run(20_000_000)
        y = np.frombuffer(simulator.read(places[len(arrays)], result.elements), result.dtype).reshape(result.shape)
        return y, int.from_bytes(simulator.read("cycles", 4), "little")


def _built(kernel: Kernel, op: Op, types: dict, has_scratch: bool, machine: str) -> Path:  # type: ignore[type-arg]
    tables, fields = initialiser(kernel.params(op, types))
    pointers = [f"(void *)(uintptr_t)places[{i}]" for i in range(len(types) + has_scratch)]
    text = MAIN.format(
        source=kernel.source, tables=tables, type=kernel.params_type, fields=fields, name=f"tw_{kernel.stem}",
        arguments=", ".join(pointers), runtime=RUNTIME if kernel.offloaded else NO_RUNTIME,
    )  # fmt: skip
    path = Path(_programs().name) / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.c"
    path.write_text(text)
    return program(path, machine, "-DTW_CORES=1", *(f"-I{folder}" for folder in INCLUDES), core=0)
