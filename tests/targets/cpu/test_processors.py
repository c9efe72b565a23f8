"""Networks on processors of both kinds, whatever this machine is: emulated, with the vectors of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.support.foreign import ForeignProgram, needs_emulator
from tests.support.networks import ROOT, needs_networks, stored
from tilewright.ir.types import Array
from tilewright.program import Program, compile_model
from tilewright.target.processors import vectors_of
from tilewright.target.settings import Settings
from tilewright.targets.cpu import target as cpu

EMULATED = ("x86-64-v2", "x86-64-v3", "cortex-a53", "cortex-a76")
"""Without dot products, and with them. Qemu has no AVX-512."""
NETWORKS = ("qdq/dscnn_kws/fp32.onnx", "qdq/dscnn_kws/int8.onnx")

pytestmark = needs_networks
each_processor = pytest.mark.parametrize(
    "processor", [pytest.param(name, marks=needs_emulator(name)) for name in EMULATED]
)


@cache
def reference(path: Path) -> dict[str, Array]:
    return compile_model(path, target="generic").reference(inputs(path))


def inputs(path: Path) -> dict[str, Array]:
    return stored(path)[0]


def compiled(path: Path, processor: str) -> Program:
    return compile_model(path, target="cpu", settings=Settings(processor=processor))


@each_processor
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_agree_with_the_reference(name: str, processor: str) -> None:
    path = ROOT / name
    program = compiled(path, processor)
    found, expected = ForeignProgram(program).outputs(inputs(path)), reference(path)
    assert program.compiled.schedule.target.processor == processor
    for output, wanted in expected.items():
        assert np.allclose(found[output], wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("name", "wide"), [(NETWORKS[0], "x86-64-v4"), (NETWORKS[1], "x86-64-v4+vnni")])
@needs_emulator("x86-64-v3")
def test_the_widest_vectors_in_narrower_registers(name: str, wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for AVX-512, compiled for a processor that has half of it: plain C stands for what is AVX-512's own."""
    vectors = vectors_of(wide)
    monkeypatch.setattr(cpu, "vectors_of", lambda processor: vectors)
    path = ROOT / name
    program = compiled(path, "x86-64-v3")
    assert "-DTW_VECTOR_BYTES=64" in program.compiled.schedule.target.flags
    found = ForeignProgram(program).outputs(inputs(path))
    for output, wanted in reference(path).items():
        assert np.allclose(found[output], wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
