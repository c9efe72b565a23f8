"""The C of a program does what the program says: run on this machine for each core, with devices that only write down
what is asked of them, it gives the events that the program unrolls to, in the same order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.planner.planning import planned
from tilewright import targets
from tilewright.codegen.agent_functions import agents_text, prefetched_together
from tilewright.codegen.limits import limits_header
from tilewright.codegen.slots import guarded
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.program import program as p
from tilewright.planner.program.program import CORES, DMA
from tilewright.planner.schedule.events import AwaitGroup, AwaitJob, Begin, TileCall, Transfer, core
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Move
from tilewright.planner.schedule.lower_tiles import lower_tiles
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import BARE, find_compiler

SIRACUSA = targets.find("siracusa")
SOURCES = ("pipeline.c", "pipeline.h", "turns.h", "each.h", "dma.h", "offload.c", "offload.h", "accelerator.h")
DMA_BOUND = Settings(8, 16_000, buffering="double", time_limit=1.0, weight_memory=False)
"""Weights come from L2 more slowly than the NPU takes them."""
CASES = (
    ("residual", Settings(8, time_limit=1.0)),
    ("residual", Settings(3, 8_000, time_limit=1.0)),
    ("gates", Settings(8, time_limit=1.0)),
    ("gates", Settings(2, 12_000, buffering="single", time_limit=1.0)),
    ("gates", DMA_BOUND),
    ("windows", Settings(8, time_limit=1.0)),
    ("windows", Settings(3, 8_000, time_limit=1.0)),
    ("broadcasts", Settings(8, 4_000, buffering="double", time_limit=1.0)),
    ("cached", Settings(8, time_limit=1.0)),
)

CLUSTER = """\
#include <stdint.h>
extern int agent;
static inline int32_t tw_core(void) { return agent; }
"""
EVENTS = """\
#include <stdint.h>
#include <stdio.h>
#include "../kernels/cluster.h"
#include "limits.h"
static inline int tw_is_dma_core(void) { return agent == TW_DMA_CORE; }
static inline void tw_barrier_all(void) { puts("barrier"); }
static inline void tw_event_team(uint32_t cores) { (void)cores; }
static inline void tw_event_push(uint32_t value) { (void)value; }
static inline uint32_t tw_event_pop(void) { return 0; }
"""
DEVICES = """\
#include <stdio.h>
#include <stdlib.h>
#include "runtime/dma.h"
#include "runtime/events.h"
#include "runtime/accelerator.h"
#include "runtime/each.h"
#include "runtime/offload.h"
#include "runtime/turns.h"
#define TW_CORES cores

int agent, cores;
static uint32_t groups, jobs;
static int barrier_first;

uint32_t tw_dma_begin(void) { printf("begin %u\\n", (unsigned)++groups); return groups; }
void tw_dma_wait(uint32_t id) { if (id != TW_DMA_NONE) printf("wait %u\\n", (unsigned)id); }
void tw_accelerator_init(void) {}
void tw_accelerator_barrier_first(void) { barrier_first = 1; }
uint32_t tw_accelerator_mark(void) { return jobs; }
void tw_accelerator_wait(uint32_t mark) { printf("job %u\\n", (unsigned)mark); }
static void submit(int layer, int tile) {
  if (barrier_first) puts("barrier");
  barrier_first = 0;
  printf("submit %d %d, job %u\\n", layer, tile, (unsigned)++jobs);
}
"""
MAIN = """\
int main(int count, char **words) {
  agent = atoi(words[1]);
  cores = atoi(words[2]);
  tw_fork(all_layers, cores);
  return count - 3;
}
"""


def scheduled(name: str, settings: Settings) -> tuple[Plan, Schedule]:
    plan = planned(name, settings)
    return plan, lower_tiles(plan)


# ---- the schedule's side --------------------------------------------------------------------------------------------


def expected(plan: Plan, schedule: Schedule, number: int) -> list[str]:
    """What a core does; `number` is the DMA core's, or that of one that computes."""
    dma_core = SIRACUSA.agents.dma_core
    own = {DMA} if number == dma_core else {CORES, core(number)}
    lines: list[str] = []
    groups: dict[int, int] = {}
    for epoch, events in enumerate(unroll(schedule)):
        lines += ["barrier"] * (epoch > 0)
        for event in events:
            if event.agent in own:
                lines.append(line(event, groups))
    return lines


def line(event: object, groups: dict[int, int]) -> str:
    if isinstance(event, Begin):
        groups[event.group] = len(groups) + 1
        return f"begin {groups[event.group]}"
    if isinstance(event, AwaitGroup):
        return f"wait {groups[event.group]}"
    if isinstance(event, AwaitJob):
        return f"job {event.job}"
    if isinstance(event, Transfer):
        return f"move {event.layer} {event.tile}"
    assert isinstance(event, TileCall)
    job = f", job {event.job}" if event.job >= 0 else ""
    return f"{event.kind} {event.layer} {event.tile}{job}"


# ---- the runtime's side ---------------------------------------------------------------------------------------------


def functions(layer: LayerSchedule) -> Iterator[str]:
    prefix, number = f"layer_{layer.number}", layer.number
    if layer.prefetch is not None:
        moves = len(layer.prefetch.moves) + (layer.params is not None) + bool(layer.prefetch.copies)
        lines = f'tw_prefetch_begin({number}); for (int i = 0; i < {moves}; i++) puts("move {number} 0");'
        yield f"static void {prefix}_prefetch(void) {{ {lines} }}"
    for name, moved in (("load", layer.loads), ("store", layer.stores)):
        if moved:
            yield tile_function(f"{prefix}_{name}", [text for move in moved for text in moving(number, move)])
    submits = layer.option.mode == "offload"
    run = f"submit({number}, tile);" if submits else f'printf("run {number} %d\\n", tile);'
    yield tile_function(f"{prefix}_run", [run])
    for name in ("gather", "finish"):
        yield tile_function(f"{prefix}_{name}", [f'printf("{name} {number} %d\\n", tile);'])


def moving(number: int, move: Move) -> list[str]:
    return guarded(move.when, [f'  printf("move {number} %d\\n", tile);'])


def tile_function(name: str, lines: list[str]) -> str:
    body = "\n".join(["(void)tile; (void)turn;", *lines])
    return f"static void {name}(int tile, int turn) {{\n{body}\n}}"


def main_source(schedule: Schedule) -> str:
    texts = [DEVICES, *(text for layer in schedule.layers for text in functions(layer))]
    for number, layers in prefetched_together(schedule.program).items():
        calls = " ".join(f"layer_{later}_prefetch();" for later in layers)
        texts.append(f"static void after_layer_{number}(void) {{ {calls} }}")
    texts += [agents_text(schedule.program, schedule.layers), MAIN]
    return "\n\n".join(texts)


def traced(folder: Path, schedule: Schedule) -> Path:
    (folder / "kernels").mkdir()
    (folder / "runtime").mkdir()
    files = SIRACUSA.runtime_files()
    for name in SOURCES:
        (folder / "runtime" / name).write_text(files[name].read_text())
    (folder / "runtime" / "limits.h").write_text(limits_header(SIRACUSA))
    (folder / "runtime" / "events.h").write_text(f"#pragma once\n{EVENTS}")
    (folder / "kernels" / "cluster.h").write_text(f"#pragma once\n{CLUSTER}")
    (folder / "main.c").write_text(main_source(schedule))
    flags = [
        "-std=c99",
        "-w",
        "-O1",
        "-fsanitize=undefined",
        "-fsanitize-trap=undefined",
        BARE,
        "main.c",
        "runtime/pipeline.c",
        "runtime/offload.c",
        "-o",
        "trace",
    ]
    find_compiler().run(flags, folder)
    return folder / "trace"


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_loops_of_the_runtime(tmp_path: Path, name: str, settings: Settings) -> None:
    plan, schedule = scheduled(name, settings)
    program, cores = traced(tmp_path, schedule), plan.budget.cores
    for number in (8, *range(cores)):
        done = subprocess.run([program, str(number), str(cores)], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == expected(plan, schedule, number), f"core {number}"


def test_an_accelerator_that_waits_for_weights_is_submitted_to_behind_loads() -> None:
    _, schedule = scheduled("gates", DMA_BOUND)
    bodies = schedule.program.agents[DMA]
    loops = [one.events for body in bodies for one in p.all_events(body.events) if isinstance(one, p.For)]
    kinds = [[type(one) for one in events if isinstance(one, p.Group | p.Submit | p.WaitJob)] for events in loops]
    assert any(found[:3] == [p.WaitJob, p.Group, p.Submit] for found in kinds)
