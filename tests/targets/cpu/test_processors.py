"""Networks on processors of both kinds, whatever this machine is: emulated, with the vectors of each."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.support.foreign import ForeignProgram, needs_emulator
from tests.support.processors import processor_of
from tests.support.quickly import quickly
from tests.support.stand_ins import (
    Network,
    float_classifier,
    given_and_wanted,
    network_id,
    onnx_model,
    quantised_classifier,
)
from tilewright.ir.types import Array
from tilewright.program import Program, compile_model
from tilewright.target.processors import vectors_of
from tilewright.target.settings import Settings
from tilewright.targets.cpu import target as cpu

EMULATED: dict[Network, tuple[str, ...]] = {
    quantised_classifier: ("x86-64-v2", "x86-64-v3", "cortex-a53", "cortex-a76", "rv64gcv", "rv64gc"),
    float_classifier: ("x86-64-v2", "x86-64-v3", "cortex-a53", "spacemit-x60"),
}
"""Bytes without dot products and with them; floats with vectors of each width. Qemu has no AVX-512."""
AS_USERS_DO = ("x86-64-v3", "rv64gcv", "spacemit-x60")
"""Compiled for; for others, code only has to be right."""


@cache
def reference(network: Network) -> dict[str, Array]:
    return compile_model(onnx_model(network), target="generic").reference(given_and_wanted(network)[0])


def compiled(network: Network, processor: str) -> Program:
    return compile_model(onnx_model(network), target="cpu", settings=Settings(cpu=processor))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("network", "processor"),
    [pytest.param(made, one, marks=needs_emulator(one)) for made, processors in EMULATED.items() for one in processors],
    ids=lambda one: one if isinstance(one, str) else network_id(one),
)
def test_networks_agree_with_the_reference(network: Network, processor: str) -> None:
    program = compiled(network, processor)
    assert processor_of(program.compiled.schedule.target) == processor
    check(program, network, is_quick=processor not in AS_USERS_DO)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("network", "wide"), [(float_classifier, "x86-64-v4"), (quantised_classifier, "x86-64-v4+vnni")],
    ids=lambda one: one if isinstance(one, str) else network_id(one),
)  # fmt: skip
@needs_emulator("x86-64-v3")
def test_the_widest_vectors_in_narrower_registers(network: Network, wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for AVX-512, compiled for a processor that has half of it: plain C stands for what is AVX-512's own."""
    vectors = vectors_of(wide)
    monkeypatch.setattr(cpu, "vectors_of", lambda processor: vectors)
    program = compiled(network, "x86-64-v3")
    assert "-DTW_VECTOR_BYTES=64" in program.compiled.schedule.target.flags
    check(program, network)


def check(program: Program, network: Network, is_quick: bool = True) -> None:
    schedule = program.compiled.schedule
    built = quickly(schedule) if is_quick else schedule
    found = ForeignProgram(built, program.files, program.name or schedule.graph.name).outputs(
        given_and_wanted(network)[0]
    )
    named = dict(zip(schedule.graph.output_names, schedule.graph.outputs, strict=True))
    for output, wanted in reference(network).items():
        assert np.allclose(found[named[output]], wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
