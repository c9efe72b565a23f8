"""Windows larger than their images, on this machine between guard pages; `benchmarks/differential` tries more."""

from __future__ import annotations

import ctypes
import shutil
from typing import Any

import numpy as np
import pytest
from benchmarks.differential.drawing import draw
from benchmarks.differential.guarded_call import call
from benchmarks.differential.judge import RIGHT, Place, verdicts

from tilewright.ir.types import Array
from tilewright.run.library import LoadedNetwork


def check_windows(target: str, count: int) -> None:
    """Of floats and of bytes, in one program that is watched."""
    cases = [draw(family, seed, room=4_000)[0] for family in ("windows", "quantised") for seed in range(count)]
    assert [verdict for verdict in verdicts(cases, Place(target, is_watched=True)) if verdict.status != RIGHT] == []


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", ["cpu", "generic"])
def test_windows_in_the_padding_on_this_machine(target: str) -> None:
    check_windows(target, 12)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["siracusa", "snitch", "minpool", "quad", "cortex-m4", "cortex-m55", "rv32"])
def test_windows_in_the_padding_on_other_machines(target: str) -> None:
    if target == "cortex-m55" and shutil.which("qemu-system-arm") is None:
        pytest.skip("programs for this core run in qemu-system-arm, which is not installed")
    check_windows(target, 6)


class Careless(LoadedNetwork):
    """In place of a network: sums some elements, from before or to behind those of its input, and of the arena."""

    def __init__(self, first: int, stop: int, arena: int = 0) -> None:
        self._arena = np.zeros(64, np.uint8)
        self.first, self.count, self.arena = first, stop - first, arena

    def __call__(self, *inputs: Array, out: Any = None, **named: Array) -> None:
        values = (ctypes.c_float * self.count).from_address(inputs[0].ctypes.data + 4 * self.first)
        out[0][...] = sum(values) + self._arena[0] * self.arena


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        (Careless(0, 5), ""), (Careless(0, 6), "SIGSEGV, arrays before a guard page"),
        (Careless(-1, 5), "SIGSEGV, arrays behind a guard page"),
        (Careless(0, 5, arena=1), "depend on what lies in the arena"),
    ],
)  # fmt: skip
def test_what_lies_beside_an_array_is_not_read(network: LoadedNetwork, problem: str) -> None:
    found = call(network, [np.ones(5, np.float32)], [np.zeros(1, np.float32)])
    assert problem in found
    assert bool(found) == bool(problem)
