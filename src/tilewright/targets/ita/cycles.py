"""How long ITA is at work: the times of its jobs, as the virtual SoC has them, without conflicts at banks."""

from __future__ import annotations

COMPUTE, TAIL, LAYER_START = 256, 11, 10
"""ITA_COMPUTE, ITA_JOB_TAIL and ITA_LAYER_START of sim/engine/timing.h."""
INPUT, WEIGHTS, BIAS, OUTPUT = 128, 32, 2, 128
"""Accesses of a job. All jobs of a layer together fetch as many weights as if each fetched its own."""


def job_cycles(has_bias: bool, has_output: bool) -> int:
    return max(COMPUTE, INPUT + WEIGHTS + BIAS * has_bias + OUTPUT * has_output) + TAIL


def product_cycles(tiles: int, inner: int, has_bias: bool = True) -> int:
    """Some tiles of a result, each over inner blocks."""
    return tiles * ((inner - 1) * job_cycles(False, False) + job_cycles(has_bias, True))


def attend_cycles(queries: int, keys: int, width: int) -> int:
    """Scores and mixed values of rows; sizes count tiles."""
    return product_cycles(queries * keys, width, False) + product_cycles(queries * width, keys, False)


def head_cycles(s: int, e: int, p: int) -> int:
    """Q, K and V, attention, and the output."""
    return 3 * product_cycles(s * p, e) + attend_cycles(s, s, p) + product_cycles(s * e, p)
