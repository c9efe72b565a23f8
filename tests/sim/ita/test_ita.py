"""ITA: layers against the model in numpy, byte by byte; the time of jobs; contexts and the queue."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ita.layers import (
    KINDS,
    ROOM,
    Case,
    Image,
    built_for_bench,
    linear_case,
    place_case,
    random_bytes,
    random_case,
    run_case,
)
from tilewright.sim.platform_rules import check_platform
from tilewright.sim.platforms.ita_bench import ITA_BENCH, ita_bench
from tilewright.sim.simulator import Simulator
from tilewright.targets.ita.arithmetic import GELU, RELU, Activation, Scale

LAYERS = 30


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", range(LAYERS))
def test_random_layers(seed: int) -> None:
    """The sanitizer finds nothing, the memory is as it must be to the last byte."""
    assert run_case(random_case(seed), checked=True).wrong == 0


def test_every_kind_of_layer_is_among_the_random_ones() -> None:
    cases = [random_case(seed) for seed in range(LAYERS)]
    assert {case.name for case in cases} == set(KINDS)
    assert {GELU, RELU} <= {case.layer.activation.kind for case in cases}
    assert {case.softmax.bits for case in cases} == {0, 5}
    assert any(len({job.weights for job in case.jobs}) > 8 for case in cases)


# ---- time ----


def product(rows: int, inner: int, columns: int) -> Case:
    rng = np.random.default_rng(3)
    x, w = random_bytes(rng, 64 * rows, 64 * inner), random_bytes(rng, 64 * inner, 64 * columns)
    return linear_case(x, w, np.zeros(64 * columns, np.int64), Scale(93, 16), Activation(), Image(rng))


START, PRELOAD, FETCH = 10, 8, 8
"""Cycles before the first job of a layer; accesses for the first weights, of a job itself and of the next."""


def test_a_job_with_one_inner_block() -> None:
    """128 accesses to the input, 32 to weights, 2 to the bias, 128 to the result, and 11 cycles."""
    first, *between, last = run_case(product(2, 1, 2)).cycles
    assert between == [301, 301]
    assert first == START + PRELOAD + 301
    assert last == 301 - FETCH


def test_a_job_with_four_inner_blocks() -> None:
    cycles = run_case(product(1, 4, 3)).cycles
    assert cycles[0] == START + 267
    assert cycles[4:8] == [267, 267, 267, 301]
    assert sum(cycles[4:8]) == 1102


def test_jobs_that_wait_start_at_once() -> None:
    outcome = run_case(product(1, 2, 2), flags=("-DSTART=job < 3",))
    assert sum(outcome.cycles) == outcome.busy == outcome.end - outcome.start


def test_banks_that_cores_take_cost_a_cycle_each() -> None:
    """A core that reads a word of every line of 128 bytes meets the port again and again."""
    quiet = run_case(product(1, 2, 2))
    noisy = run_case(product(1, 2, 2), flags=("-DNOISE",))
    assert noisy.wrong == 0
    assert sum(noisy.cycles) > sum(quiet.cycles) + 50
    assert noisy.conflicts > 0


# ---- looking on ----


def test_a_snapshot_in_the_middle_of_a_job() -> None:
    case = product(1, 2, 2)
    with Simulator(ita_bench(ROOM)) as simulator:
        simulator.load(built_for_bench("ita_jobs.c"))
        place_case(simulator, case)
        simulator.run_until(cycle=1500)
        snapshot = simulator.snapshot()
        first = simulator.run()
        simulator.restore(snapshot)
        second = simulator.run()
        after = simulator.read(simulator.platform.memory("tcdm").base, ROOM)
    assert first.cycles == second.cycles
    assert first.busy == second.busy
    assert after == case.image.after.tobytes()


def test_what_it_does_is_counted() -> None:
    case = product(1, 2, 2)
    with Simulator(ita_bench(ROOM)) as simulator:
        simulator.load(built_for_bench("ita_jobs.c"))
        place_case(simulator, case)
        busy = simulator.run().busy["ita"]
        counts = simulator.activity().counts
    jobs, tiles, tile = 4, 2, 64 * 64
    assert counts["npu_macs"] == jobs * 64**3
    assert counts["npu_cycles"] == busy
    assert counts["tcdm.npu_bytes"] == jobs * (4 * tile + tile) + tiles * (tile + 192)


# ---- registers ----


def registers(source: str) -> list[int]:
    """The words that a program has put into `found`."""
    with Simulator(ITA_BENCH) as simulator:
        simulator.load(built_for_bench("ita_registers.c", f"-DDO={source}"))
        simulator.run(100_000)
        return np.frombuffer(simulator.read("found", 64), "<u4").tolist()


FULL = 0xFFFF_FFFF


def test_four_jobs_wait_and_a_fifth_has_no_context() -> None:
    jobs = "for (int i = 0; i < 4; i++) { KEEP(R(4)); place(); R(0) = i < 3; }"
    source = f"{jobs} KEEP(R(4)); KEEP(R(12)); KEEP(R(16)); drain()"
    *ids, fifth, waiting, running = registers(source)[:7]
    assert ids == [0, 1, 2, 3]
    assert (fifth, waiting, running) == (FULL, 4, 0)


def test_finished_jobs_are_counted_until_a_context_is_acquired() -> None:
    assert registers("job(); job(); drain(); KEEP(R(8)); KEEP(R(4)); KEEP(R(8)); KEEP(R(0x0c))")[:4] == [2, 2, 0, 0]


def test_registers_belong_to_contexts_in_turn() -> None:
    source = (
        "for (unsigned i = 0; i < 4; i++) { R(0x20) = 4096 * i; R(0) = 1; } R(0x14) = 1; pause(9); "
        "for (unsigned i = 0; i < 4; i++) { KEEP(R(0x20)); R(0) = 0; } drain(); R(0x14) = 0; KEEP(R(0x20))"
    )
    assert registers(source)[:5] == [0, 4096, 8192, 12288, 0]


def test_jobs_that_are_only_committed_wait_for_a_start() -> None:
    source = "place(); R(0) = 1; KEEP(R(0x0c)); pause(200); KEEP(R(0x0c)); job(); drain(); KEEP(R(8))"
    assert registers(source)[:3] == [1, 1, 2]


def test_a_clear_ends_what_runs() -> None:
    source = "job(); job(); KEEP(R(0x0c)); R(0x14) = 0; KEEP(R(0x0c)); pause(9); job(); drain(); KEEP(R(8))"
    assert registers(source)[:3] == [2, 0, 1]


def test_busy_flag_and_events() -> None:
    """Two bits for each core: a job has ended, the last one has. Written ones are cleared."""
    look = "KEEP(VIEW(0)); KEEP(VIEW(8))"
    source = f"{look}; job(); KEEP(VIEW(0)); drain(); {look}; VIEW(8) = 15; KEEP(VIEW(8))"
    assert registers(source)[:6] == [0, 0, 1, 0, 0x3FF, 0x3F0]


def test_cores_may_sleep_until_a_job_has_ended() -> None:
    assert registers("job(); sleep(); KEEP(R(8)); KEEP(R(0x0c))")[:2] == [1, 0]


@pytest.mark.fast
def test_descriptions() -> None:
    check_platform(ITA_BENCH)
    check_platform(ita_bench(1 << 20, 5))
