"""Networks on processors of both kinds, whatever this machine is: emulated, with the vectors of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.support.foreign import ForeignProgram, needs_emulator
from tests.support.networks import ROOT, needs_networks, stored
from tests.support.processors import processor_of
from tests.support.quickly import quickly
from tilewright.ir.types import Array
from tilewright.program import Program, compile_model
from tilewright.target.processors import vectors_of
from tilewright.target.settings import Settings
from tilewright.targets.cpu import target as cpu

EMULATED = {
    "qdq/dscnn_kws/int8.onnx": ("x86-64-v2", "x86-64-v3", "cortex-a53", "cortex-a76", "rv64gcv", "rv64gc"),
    "qdq/dscnn_kws/fp32.onnx": ("x86-64-v2", "x86-64-v3", "cortex-a53", "spacemit-x60"),
}
"""Bytes without dot products and with them; floats with vectors of each width. Qemu has no AVX-512."""
AS_USERS_DO = ("x86-64-v3", "rv64gcv", "spacemit-x60")
"""Compiled for; for others, code only has to be right."""

pytestmark = needs_networks


@cache
def reference(path: Path) -> dict[str, Array]:
    return compile_model(path, target="generic").reference(inputs(path))


def inputs(path: Path) -> dict[str, Array]:
    return stored(path)[0]


def compiled(path: Path, processor: str) -> Program:
    return compile_model(path, target="cpu", settings=Settings(cpu=processor))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("name", "processor"),
    [pytest.param(name, one, marks=needs_emulator(one)) for name, processors in EMULATED.items() for one in processors],
)
def test_networks_agree_with_the_reference(name: str, processor: str) -> None:
    path = ROOT / name
    program = compiled(path, processor)
    assert processor_of(program.compiled.schedule.target) == processor
    check(program, path, is_quick=processor not in AS_USERS_DO)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("name", "wide"), [("qdq/dscnn_kws/fp32.onnx", "x86-64-v4"), ("qdq/dscnn_kws/int8.onnx", "x86-64-v4+vnni")]
)
@needs_emulator("x86-64-v3")
def test_the_widest_vectors_in_narrower_registers(name: str, wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for AVX-512, compiled for a processor that has half of it: plain C stands for what is AVX-512's own."""
    vectors = vectors_of(wide)
    monkeypatch.setattr(cpu, "vectors_of", lambda processor: vectors)
    program = compiled(ROOT / name, "x86-64-v3")
    assert "-DTW_VECTOR_BYTES=64" in program.compiled.schedule.target.flags
    check(program, ROOT / name)


def check(program: Program, path: Path, is_quick: bool = True) -> None:
    schedule = program.compiled.schedule
    built = quickly(schedule) if is_quick else schedule
    found = ForeignProgram(built, program.files, program.name or schedule.graph.name).outputs(inputs(path))
    named = dict(zip(schedule.graph.output_names, schedule.graph.outputs, strict=True))
    for output, wanted in reference(path).items():
        assert np.allclose(found[named[output]], wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
