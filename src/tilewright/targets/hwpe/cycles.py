"""How long N-EUREKA works on a job while nobody else uses the banks of L1."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.targets.hwpe.jobs import DENSE, DEPTHWISE, LANES, POINTWISE, SIDE, Job, parts

PIXELS = SIDE * SIDE
SETUP = 6
"""Before pixels are loaded."""
CONTROL = {DENSE: 6, DEPTHWISE: 34, POINTWISE: 10}
PREFETCHED_CONTROL = {DENSE: 6, DEPTHWISE: 34, POINTWISE: 7}
SCALE_TAIL, BIAS_LOADS, BIAS_TAIL = 9, 4, 8
START = 1
"""From the commit, or from the end of the job before."""


def job_cycles(job: Job) -> int:
    *whole, last = parts(job.filters, job.out_tile)
    fields = _fields(job)
    alike = len(whole) * _filter_tile(job, fields, job.out_tile, False) if whole else 0
    return START + alike + _filter_tile(job, fields, last, True)


Field = tuple[int, int, int, int]
"""Rows and columns of a tile's results, and of the pixels that are loaded for them."""


def _fields(job: Job) -> list[Field]:
    reach = 0 if job.mode == POINTWISE else 2
    rows = [(h, h + reach) for h in parts(job.height, SIDE)]
    columns = [(w, w + reach) for w in parts(job.width, SIDE)]
    rows[-1] = rows[-1][0], rows[-1][1] - job.bottom
    columns[-1] = columns[-1][0], columns[-1][1] - job.right
    return [(h, w, h_in, w_in) for h, h_in in rows for w, w_in in columns]


def _filter_tile(job: Job, fields: Sequence[Field], k: int, is_last: bool) -> int:
    repeats = 1 if job.mode == DEPTHWISE else len(parts(job.channels, job.in_tile))
    loads = [PIXELS + SETUP if job.mode == POINTWISE else h_in * w_in for _, _, h_in, w_in in fields] * repeats
    control = (PREFETCHED_CONTROL if job.weights.resident else CONTROL)[job.mode]
    time = sum(SETUP + load + control for load in loads)
    products = _products(job, k)
    if job.weights.resident:
        hidden = control + (0 if job.mode == DEPTHWISE else products)
        time += sum(max(0, hidden - 3 - load) for load in loads[1:]) + products
    else:
        time += len(loads) * products
    return time + sum(_results(job, h, w, k, is_last) for h, w, _, _ in fields)


def _products(job: Job, k: int) -> int:
    """One word of weights per cycle; of depthwise weights in L1 only those of the first channel take time."""
    bits = job.weights.bits
    if job.mode == DEPTHWISE and not job.weights.resident:
        return bits
    return {DENSE: k * bits + 8, DEPTHWISE: k * bits, POINTWISE: k}[job.mode]


def _results(job: Job, h: int, w: int, k: int, is_last: bool) -> int:
    time = 3 if job.mode == POINTWISE else 0
    if job.result.quantises:
        scales = k if is_last and k != LANES else LANES
        time += -(-scales * job.result.scale_bits // 32) + SCALE_TAIL + BIAS_LOADS + BIAS_TAIL + job.result.has_shifts
    return time + ((h - 1) * SIDE + w) * (1 if job.result.width == 8 else -(-k // 8))
