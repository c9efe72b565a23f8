"""N-EUREKA: random jobs against a plain convolution, byte by byte, and against the cycle model."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.sim.assembling import built
from tests.sim.neureka.model import (
    DENSE,
    DEPTHWISE,
    L1,
    POINTWISE,
    Case,
    Job,
    Places,
    cycles,
    encoded,
    random_job,
    registers,
    tiles,
)
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator

WMEM = 0x1040_0000
CHECKED = 0x38000
"""Bytes of L1 below the stacks."""
JOBS = 80
LONGEST_WRITE = 8
BUSY_TO_COUNTER = 7
"""From the first counter read to the one after waking."""


class Bench:
    """L1 and weight memory with the operands of some jobs, and the image that L1 must have in the end."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.next = 0x400
        self.before = np.frombuffer(rng.randbytes(CHECKED), np.uint8).copy()
        self.after = self.before.copy()
        self.weights = b""
        self.registers: list[list[int]] = []

    def place(self, size: int, alignment: int) -> int:
        at = -(-self.next // 32) * 32 + self.rng.randrange(0, 32, alignment)
        self.next = at + size
        assert self.next <= CHECKED
        return at

    def put(self, data: bytes, alignment: int = 4) -> int:
        at = self.place(len(data), alignment)
        for image in (self.before, self.after):
            image[at : at + len(data)] = np.frombuffer(data, np.uint8)
        return L1 + at

    def put_weights(self, case: Case) -> int:
        data = encoded(case.job, case.codes)
        if not case.job.in_wmem:
            return self.put(data, 32)
        at = len(self.weights)
        self.weights += data
        return at

    def put_pixels(self, values: np.ndarray, width: int, pixel: int, alignment: int) -> int:
        """Pixels of values, with whatever lay there before in the gaps between them."""
        rows, columns, channels = values.shape
        data = np.frombuffer(self.rng.randbytes(rows * columns * pixel), np.uint8).reshape(rows, columns, pixel).copy()
        data[:, :, : channels * width] = as_bytes(values, width)
        return self.put(data.tobytes(), alignment)

    def add(self, case: Case) -> None:
        job, width = case.job, case.job.out_bits // 8
        x = self.put_pixels(case.x, 1, job.in_pixel, 1)
        y = self.put_pixels(case.before, width, job.out_pixel, 1 if width == 1 and self.rng.random() < 0.5 else 4)
        pixels = self.after[y - L1 :][: job.ho * job.wo * job.out_pixel].reshape(job.ho, job.wo, job.out_pixel)
        pixels[:, :, : job.kout * width] = as_bytes(case.expected, width)
        scale = self.put(case.scale.astype(f"<u{job.scale_bits // 8}").tobytes())
        shifts, bias = self.put(case.shifts.astype("<u1").tobytes()), self.put(case.bias.astype("<i4").tobytes())
        self.registers.append(registers(job, Places(x, y, scale, shifts, bias, self.put_weights(case))))

    def run(self, simulator: Simulator) -> Report:
        simulator.load(built("neureka.c"))
        simulator.write(L1, self.before.tobytes())
        simulator.write(WMEM, self.weights)
        simulator.write("jobs", len(self.registers).to_bytes(4, "little"))
        simulator.write("registers", np.array(self.registers, "<u4").tobytes())
        report = simulator.run(1_000_000)
        wrong = np.flatnonzero(np.frombuffer(simulator.read(L1, CHECKED), np.uint8) != self.after)
        assert not len(wrong), f"{len(wrong)} bytes differ, the first at {L1 + wrong[0]:#x}"
        assert words(simulator, "wakes", 8) == [len(self.registers)] * 8
        return report


def as_bytes(values: np.ndarray, width: int) -> np.ndarray:
    rows, columns, channels = values.shape
    return (
        (values & ((1 << 8 * width) - 1)).astype(f"<u{width}").view(np.uint8).reshape(rows, columns, channels * width)
    )


def words(simulator: Simulator, symbol: str, count: int) -> list[int]:
    return np.frombuffer(simulator.read(symbol, 4 * count), "<u4").tolist()


def has_plain_time(job: Job, y: int) -> bool:
    """Single bytes at the ends of a write take time of their own."""
    return job.out_bits == 32 or not (y % 4 or job.kout % 4 or job.out_pixel % 4)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(JOBS))
def test_random_jobs(seed: int) -> None:
    rng = random.Random(seed)
    job = random_job(rng)
    bench = Bench(rng)
    bench.add(Case(job, seed))
    with Simulator("siracusa") as simulator:
        busy = bench.run(simulator).busy["n-eureka"]
        (measured,) = words(simulator, "cycles", 1)
    assert measured == busy + BUSY_TO_COUNTER
    if has_plain_time(job, bench.registers[0][2]):
        assert busy == cycles(job), job
    else:
        writes = job.ho * job.wo * len(tiles(job.kout, job.out_tile))
        assert cycles(job) <= busy <= cycles(job) + LONGEST_WRITE * writes, job


def test_two_jobs_wait_in_line() -> None:
    """The second starts when the first has ended; no third context; ids count up; every core hears of both ends."""
    rng = random.Random(1)
    jobs = [Job(DENSE, 8, 56, 64, 12, 12, offset=-128, shift=12), Job(POINTWISE, 4, 40, 32, 7, 9, offset=-8, shift=8)]
    bench = Bench(rng)
    for seed, job in enumerate(jobs):
        bench.add(Case(job, seed))
    with Simulator("siracusa") as simulator:
        report = bench.run(simulator)
        first, second = words(simulator, "ids", 2)
        already, full = words(simulator, "refusals", 2)
    assert second == first + 1
    assert (already, full) == (0xFFFFFFFE, 0xFFFFFFFF)
    assert report.busy["n-eureka"] >= sum(cycles(job) for job in jobs)


KINDS = {"mode": 3, "bits": 7, "scale_bits": 3, "step": 2, "out_bits": 2, "is_signed": 2, "quantises": 2, "has_relu": 2}
KINDS |= {"has_bias": 2, "channel_shift": 2, "streams_in": 2, "prefetches": 2, "in_wmem": 2, "bottom": 2, "top": 3}


def test_every_kind_of_job_is_among_the_random_ones() -> None:
    jobs = [random_job(random.Random(seed)) for seed in range(JOBS)]
    assert {name: len({getattr(job, name) for job in jobs}) for name in KINDS} == KINDS
    assert {job.mode for job in jobs if not job.in_wmem} == {DENSE, DEPTHWISE, POINTWISE}
    assert any(job.mask for job in jobs if job.mode == DENSE)
    assert any(job.pad_value for job in jobs if job.top)
    assert sum(has_plain_time(job, 0) for job in jobs) > JOBS // 2
