"""The sampler in C, compiled for this machine and called from Python."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tests.support.tokenizer_in_c import library
from tilewright.ir.types import Array
from tilewright.language.sampler import LogitScale, Sampling, sampler_files

I32, U32, U64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64


class Settings(ctypes.Structure):
    _fields_ = [(name, I32) for name in ("temperature", "top_k", "top_p", "penalty", "min_p")]


class Logits(ctypes.Structure):
    _fields_ = [("values", ctypes.c_void_p), *((name, I32) for name in ("bits", "zero_point", "multiplier", "shift"))]


class State(ctypes.Structure):
    _fields_ = [
        ("random", U64), ("rate", U64), ("inverse", U64), ("settings", Settings), ("vocabulary", I32),
        ("seen", ctypes.c_void_p), ("bins", U64 * 256), ("counts", U32 * 512), ("distances", U32 * 512),
    ]  # fmt: skip


def built(folder: Path) -> ctypes.CDLL:
    return library(sampler_files(floats=True), folder)


class SamplerInC:
    def __init__(self, made: ctypes.CDLL, sampling: Sampling, vocabulary: int) -> None:
        self.made, self.state = made, State()
        self.seen = np.full((vocabulary + 31) // 32 + 1, 7, np.uint32)
        settings = Settings(*sampling.fixed)
        place = ctypes.c_void_p(self.seen.ctypes.data)
        assert (
            made.tw_sampler_init(
                ctypes.byref(self.state), ctypes.byref(settings), U64(sampling.seed), vocabulary, place
            )
            == 0
        )

    def saw(self, token: int) -> None:
        self.made.tw_sampler_saw(ctypes.byref(self.state), token)

    def next(self, logits: Array, scale: LogitScale) -> int:
        values = np.ascontiguousarray(logits)
        kind = Logits(values.ctypes.data, values.itemsize * 8, scale.zero_point, scale.multiplier, scale.shift)
        token = self.made.tw_sampler_next(ctypes.byref(self.state), ctypes.byref(kind))
        assert self.seen[-1] == 7
        return int(token)
