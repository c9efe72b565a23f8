"""The pieces of the Fashion-MNIST example and of its benchmark, without the data."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import onnx
import pytest
from benchmarks.quantiser_peers import accuracy, quantised, scores, snr_db
from examples.fashion_mnist.data import DEVIATION, MEAN, Missing, calibration, load, read_idx
from onnx import TensorProto, helper, numpy_helper


def write_idx(path: Path, values: np.ndarray) -> None:
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    content = header + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 28, 28))
    write_idx(tmp_path / "train-images-idx3-ubyte.gz", pixels)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.arange(6))
    return tmp_path


@pytest.mark.fast
def test_pictures_are_read_and_normalised_packed_or_not(folder: Path) -> None:
    pictures, labels = load("train", folder)
    pixels = read_idx(folder / "train-images-idx3-ubyte.gz")
    assert pictures.shape == (6, 1, 28, 28)
    assert pictures.dtype == np.float32
    assert labels.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(pictures[:, 0] * DEVIATION + MEAN, pixels / 255, atol=1e-6)


@pytest.mark.fast
def test_calibration_draws_different_pictures_the_same_every_time(folder: Path) -> None:
    first, again = calibration(4, folder), calibration(4, folder)
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first.reshape(4, -1), axis=0)) == 4


@pytest.mark.fast
def test_missing_data_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(Missing, match=r"no t10k-images-idx3-ubyte\[.gz\] in .*apt install dataset-fashion-mnist"):
        load("t10k", folder)


@pytest.mark.fast
def test_a_file_that_is_no_idx_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_bytes(b"\x89PNG1234")
    with pytest.raises(Missing, match="wrong is no idx file of bytes: it starts with 89504e47"):
        read_idx(tmp_path / "wrong")


@pytest.mark.fast
def test_measures() -> None:
    assert accuracy(np.array([[1.0, 2.0], [3.0, 1.0]], np.float32), np.array([1, 1])) == 0.5
    assert snr_db(np.array([10.0, 0.0]), np.array([10.0, 1.0])) == pytest.approx(20.0)
    assert snr_db(np.ones(2), np.ones(2)) == np.inf


def test_the_peer_quantises_what_it_is_given(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    weights = numpy_helper.from_array(random.normal(size=(5, 8)).astype(np.float32), "W")
    node = helper.make_node("Gemm", ["x", "W"], ["y"], transB=1)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("x", 8), ("y", 5)))
    graph = helper.make_graph([node], "linear", [x], [y], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    samples = random.normal(size=(20, 8)).astype(np.float32)
    model = quantised(tmp_path / "m.onnx", samples, "MinMax")
    assert "QuantizeLinear" in {node.op_type for node in model.graph.node}
    assert 25 < snr_db(scores(tmp_path / "m.onnx", samples), scores(model, samples)) < 60
