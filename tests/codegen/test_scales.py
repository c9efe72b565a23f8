"""What int8 inputs and outputs stand for is said wherever a user looks, and C's helpers compute what numpy does."""

import ctypes
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.support.models import model, node
from tests.support.tflite_models import O, T, write
from tests.support.tokenizer_in_c import library
from tilewright.analysis.costs import analyze
from tilewright.ir.scale import Scale
from tilewright.ir.types import Array

SCALES = (("int8", 0.05, -7), ("uint8", 0.37, 200), ("int16", 0.0009765625, 0))


def qdq(dtype: str, scale: float, zero: int) -> bytes:
    """Relu between an input and an output of integers."""
    constants: dict[str, Array] = {"s": np.array(scale, np.float32), "z": np.array(zero, dtype)}
    nodes = [
        node("Reshape", "x shape", "flat"),
        node("DequantizeLinear", "flat s z", "real"),
        node("Relu", "real", "positive"),
        node("QuantizeLinear", "positive s z", "made"),
        node("Transpose", "made", "y", perm=[1, 0]),
    ]
    constants["shape"] = np.array([2, 3], np.int64)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model(nodes, {"x": (6,)}, ["y"], constants, kind, 21).SerializeToString()


@pytest.mark.fast
@pytest.mark.parametrize(("dtype", "scale", "zero"), SCALES)
def test_the_scales_of_qdq_models_are_found(dtype: str, scale: float, zero: int) -> None:
    found, known = analyze(qdq(dtype, scale, zero)), Scale(float(np.float32(scale)), zero)
    assert found.scales.inputs == {"x": known}
    assert found.scales.outputs == {"y": known}
    assert json.loads(json.dumps(found.as_dict()))["inputs"][0]["zero_point"] == zero


@pytest.mark.fast
def test_the_scales_of_tflite_files_are_found() -> None:
    tensors = [T("int8", (1, 4), 0.5, 3, name="in"), T("int8", (1, 4), 1 / 256, -128, name="out")]
    found = analyze(write(tensors, [O("LOGISTIC", [0], [1])], [0], [1])).scales
    assert found.inputs == {"in": Scale(0.5, 3)}
    assert found.outputs == {"out": Scale(1 / 256, -128)}


@pytest.mark.fast
def test_the_header_names_outputs_as_the_model_does() -> None:
    """A rewritten last layer has another tensor for its result."""
    tensors = [T("int8", (1, 4), 0.5, 3, name="in"), T("int8", (1, 4), 1 / 256, -128, name="scores")]
    made = tw.compile(write(tensors, [O("SOFTMAX", [0], [1])], [0], [1]))
    assert made.compiled.schedule.graph.outputs != ("scores",)
    assert "'scores', real = 0.00390625 * (integer + 128)" in made.files["network.h"]


@pytest.mark.parametrize(("dtype", "scale", "zero"), SCALES)
def test_helpers_in_c_quantise_as_numpy(dtype: str, scale: float, zero: int, tmp_path: Path) -> None:
    header = tw.compile(qdq(dtype, scale, zero), name="net").compiled.files["network.h"]
    kind = f"{dtype}_t"
    source = f"""#include "network.h"
static const net_quantisation known = NET_X_QUANTISATION;
float scale_of(void) {{ return known.scale; }}
int zero_of(void) {{ return known.zero_point; }}
{kind} quantise(float real) {{ return net_quantise_x(real); }}
float dequantise({kind} integer) {{ return net_dequantise_y(integer); }}
"""
    made = library({"network.h": header, "use.c": source}, tmp_path)
    made.quantise.argtypes, made.quantise.restype = [ctypes.c_float], getattr(ctypes, f"c_{dtype}")
    made.dequantise.argtypes, made.dequantise.restype = [getattr(ctypes, f"c_{dtype}")], ctypes.c_float
    made.scale_of.restype = ctypes.c_float
    assert (made.scale_of(), made.zero_of()) == (np.float32(scale), zero)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for integer in {low, low + 1, zero - 1, zero, zero + 1, high} & set(range(low, high + 1)):
        real = made.dequantise(integer)
        assert real == np.float32(scale) * np.float32(integer - zero)
        assert made.quantise(real) == made.quantise(real + 0.4 * scale) == integer
    assert made.quantise(1e30) == made.quantise(float("inf")) == high
    assert made.quantise(-1e30) == low
    assert made.quantise(float("nan")) == zero
    assert made.quantise(0.5000001 * scale) == min(zero + 1, high)
    assert made.quantise(-0.5000001 * scale) == zero - 1


def test_projects_name_the_helpers(tmp_path: Path) -> None:
    tw.compile(qdq("int8", 0.05, -7), name="net").export(tmp_path / "out", "cmake")
    text = (tmp_path / "out/app/network_call.h").read_text()
    assert "#define app_quantise_0 net_quantise_x\n#define app_dequantise_0 net_dequantise_y\n" in text
