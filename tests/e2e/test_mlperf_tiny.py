"""TensorFlow Lite files, made here and MLPerf Tiny's trained ones: integers equal each runtime's outputs, floats are
near LiteRT's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.support.checks import same
from tests.support.networks import those_there
from tests.support.stand_ins import (
    Network,
    classifier,
    float_autoencoder,
    network_id,
    tflite_bytes,
    wide_classifier,
)
from tests.support.tflite_cases import random_input
from tests.support.tflite_runtimes import litert, micro
from tilewright.ir.types import Array, TensorType


def trained(*names: str) -> list[Path]:
    return those_there(*(f"mlperf_tiny/{name}.tflite" for name in names))


QUANTISED = [classifier, *trained("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")]
FLOATS = [float_autoencoder, *trained("ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float")]
CONVOLUTIONS = {wide_classifier: 3} | dict.fromkeys(trained("kws_ref_model", "pretrainedResnet_quant"), 9)
RUNTIMES = {"tflm": "micro", "ref": "reference", "opt": "optimised"}
RESOLVERS = {"ref": "BUILTIN_REF", "opt": "BUILTIN_WITHOUT_DEFAULT_DELEGATES"}
NOISES = 4
INPUTS = {"generic": 16, "siracusa": 2}
MANY_MACS = 10_000
"""More than the last products of these networks have."""
FLOAT_INPUTS = {"generic": 16, "siracusa": 1}


def check(network: Network, target: str, runtime: str, count: int) -> None:
    program = tw.compile(tflite_bytes(network), target=target, tflite_rounding=RUNTIMES[runtime])
    (x,) = program.graph.inputs
    for given, wanted in samples(network, program.graph.types[x], runtime, count):
        (found,) = program.run({x: given}).outputs.values()
        same(found, wanted, 1e-4)


def samples(network: Network, kind: TensorType, runtime: str, count: int) -> Iterator[tuple[Array, Array]]:
    """Inputs and outputs: stored beside a file, or what the runtime makes of noise."""
    if isinstance(network, Path):
        with np.load(network.with_suffix(".npz")) as stored:
            yield from ((stored[f"in_{number}"], stored[f"{runtime}_{number}"]) for number in range(count))
        return
    data, draw = network(), np.random.default_rng(1)
    for _ in range(min(count, NOISES)):
        x = random_input(draw, kind.dtype, kind.shape)
        yield x, (micro(data, [x], 1) if runtime == "tflm" else litert(data, [x], RESOLVERS[runtime]))[0]


CASES = [(network, runtime, target) for network in QUANTISED for runtime in RUNTIMES for target in INPUTS]
LARGEST = {("mlperf_tiny/vww_96_int8", runtime, "siracusa") for runtime in ("ref", "opt")}
"""Takes as long as two others, which have all of its kinds of layers."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("network", "runtime", "target"),
    [(network, *case) for network, *case in CASES if (network_id(network), *case) not in LARGEST],
    ids=lambda one: one if isinstance(one, str) else network_id(one),
)
def test_integers_equal_the_runtime(network: Network, runtime: str, target: str) -> None:
    check(network, target, runtime, INPUTS[target])


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", FLOAT_INPUTS)
@pytest.mark.parametrize("network", FLOATS, ids=network_id)
def test_floats_agree(network: Network, target: str) -> None:
    check(network, target, "ref", FLOAT_INPUTS[target])


@pytest.mark.parametrize("network", CONVOLUTIONS, ids=network_id)
def test_the_npu_takes_every_convolution(network: Network) -> None:
    analysis = tw.analyze(tflite_bytes(network), target="siracusa")
    large = [layer.kernel for layer in analysis.layers if layer.macs >= MANY_MACS]
    assert len(large) == CONVOLUTIONS[network]
    assert all(kernel.startswith("neureka.") for kernel in large)
    assert any("TensorFlow Lite Micro" in note for note in analysis.notes)
