"""The benchmark of public networks on small ones: what it says of each."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from benchmarks.public_networks import binding_of, examine, reasons_of

from tests.support.models import model, node

pytest.importorskip("onnxruntime")


def saved(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.onnx"
    proto = model([node(kind, "x", "y")], {"x": ("n", 3, None)}, ["y"])
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    onnx.save(proto, path)
    return path


def test_a_network_that_agrees(tmp_path: Path) -> None:
    found = examine(saved(tmp_path, "Sigmoid"), "generic", False)
    assert found["status"] == "agrees"
    assert found["error"] <= found["allowed"]


def test_a_network_that_is_refused_says_why(tmp_path: Path) -> None:
    found = examine(saved(tmp_path, "NoSuchOperator"), "generic", True)
    assert found["status"] == "refused"
    assert reasons_of(found) == {"operator NoSuchOperator is not supported"}


def test_bindings_are_found_by_name() -> None:
    assert binding_of("onnx_asr__kaldi.onnx").bind["waveforms_lens"] == 16000
    assert binding_of("pysilero__silero_vad.onnx").shapes["h"] == (2, 1, 64)
    assert not binding_of("unheard_of.onnx").shapes
