"""MLPerf Tiny's trained TensorFlow Lite files: integers equal each runtime's outputs, floats are near LiteRT's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.support.checks import same
from tests.support.networks import ROOT

FOLDER = ROOT / "mlperf_tiny"
QUANTISED = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")
FLOATS = ("ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float")
RUNTIMES = {"tflm": "micro", "ref": "reference", "opt": "optimised"}
INPUTS = {"generic": 16, "siracusa": 2}
MANY_MACS = 10_000
"""More than the last products of these networks have."""
FLOAT_INPUTS = {"generic": 16, "siracusa": 1}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no networks at {FOLDER}; set TILEWRIGHT_NETWORKS")


def check(name: str, target: str, runtime: str, count: int) -> None:
    program = tw.compile(FOLDER / f"{name}.tflite", target=target, tflite_rounding=RUNTIMES[runtime])
    (x,) = program.graph.inputs
    with np.load(FOLDER / f"{name}.npz") as stored:
        for number in range(count):
            (found,) = program.run({x: stored[f"in_{number}"]}).outputs.values()
            same(found, stored[f"{runtime}_{number}"], 1e-4)


CASES = [(name, runtime, target) for name in QUANTISED for runtime in RUNTIMES for target in INPUTS]
LARGEST = {("vww_96_int8", runtime, "siracusa") for runtime in ("ref", "opt")}
"""Takes as long as two others, which have all of its kinds of layers."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("name", "runtime", "target"), [case for case in CASES if case not in LARGEST])
def test_integers_equal_the_runtime(name: str, runtime: str, target: str) -> None:
    check(name, target, runtime, INPUTS[target])


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", FLOAT_INPUTS)
@pytest.mark.parametrize("name", FLOATS)
def test_floats_agree(name: str, target: str) -> None:
    check(name, target, "ref", FLOAT_INPUTS[target])


@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant"])
def test_the_npu_takes_every_convolution(name: str) -> None:
    analysis = tw.analyze(FOLDER / f"{name}.tflite", target="siracusa")
    large = [layer.kernel for layer in analysis.layers if layer.macs >= MANY_MACS]
    assert len(large) == 9
    assert all(kernel.startswith("neureka.") for kernel in large)
    assert any("TensorFlow Lite Micro" in note for note in analysis.notes)
