"""Streams of Vela's: random operators and whole networks have every bit of TensorFlow Lite Micro's reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.networks import those_there
from tests.support.npu_cases import CASES
from tests.support.stand_ins import Network, autoencoder, classifier, network_id, tflite_bytes
from tests.support.tflite_cases import random_input
from tests.support.tflite_runtimes import micro
from tests.support.vela import Compiled, as_compiled, compiled, results
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS

NPUS = list(CONFIGURATIONS)
NAMES = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
TRAINED = those_there(*(f"mlperf_tiny/{name}.tflite" for name in NAMES))
ARENA = 1 << 20
"""Bytes that TensorFlow Lite Micro needs for the largest."""


def inputs(data: bytes, seed: int) -> list[Array]:
    file, draw = Compiled(data), np.random.default_rng(seed)
    given = [file.graph.Inputs(k) for k in range(file.graph.InputsLength())]
    return [random_input(draw, file.dtype(k).name, file.shape(k)) for k in given]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 20))])
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, seed: int) -> None:
    npu = NPUS[(seed + len(name)) % len(NPUS)]
    data = CASES[name](np.random.default_rng([seed, len(name)]))
    made = as_compiled(data, npu)
    file, given = Compiled(made), inputs(data, seed)
    if not file.is_whole():
        pytest.skip("Vela leaves it to a CPU")
    wanted = micro(data, given, file.graph.OutputsLength(), ARENA)
    for found, value in zip(results(made, npu, given), wanted, strict=True):
        assert found.reshape(-1).tolist() == value.reshape(-1).tolist()


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256"])
@pytest.mark.parametrize("network", [autoencoder, classifier, *TRAINED], ids=network_id)
def test_network(network: Network, npu: str) -> None:
    data = tflite_bytes(network)
    given, made = inputs(data, 5), compiled(data, npu)
    assert Compiled(made).is_whole()
    (wanted,) = micro(data, given, 1, ARENA)
    assert np.array_equal(results(made, npu, given)[0], wanted)
