"""What a user says that cannot be meant gets one clear answer, before any work where that can be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from tests.quantiser.networks import Net, classifier, images
from tests.support.command import Command
from tilewright.errors import CompileError
from tilewright.export import save
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType, type_of
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.maxpool import MaxPool
from tilewright.quantiser.cost.measure import EXACT_DB, Noise, accuracy, checked, scored
from tilewright.quantiser.cost.scores import agreement
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.quantiser.widths import Width, Widths
from tilewright.target.params import params_of
from tilewright.targets.pulp.sizes import in_c


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(classifier(), tmp_path / "net.onnx")
    np.savez(tmp_path / "s.npz", x=images(4))
    return tmp_path


def error(folder: Path, command: Command, *words: str | Path) -> dict[str, Any]:
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", *words, "--json", "--processes", "1")
    assert ran.code == 2
    found: dict[str, Any] = ran.json["error"]
    return found


def test_a_width_of_a_layer_that_is_not_there() -> None:
    options = Options(Widths(layers={"clases": Width(4)}), processes=1)
    with pytest.raises(CompileError, match="the network has no such layer") as found:
        quantise(classifier(), images(4), options)
    assert "classes" in found.value.hint


def test_a_front_without_a_budget(folder: Path, command: Command) -> None:
    found = error(folder, command, "-o", folder / "q.onnx", "--front", folder / "f.svg")
    assert "--min-snr" in found["hint"]


@pytest.mark.parametrize("option", ["-o", "--picture"])
def test_a_folder_that_is_not_there(folder: Path, command: Command, option: str) -> None:
    found = error(folder, command, option, folder / "nowhere" / "file")
    assert found["what"] == f"there is no folder '{folder / 'nowhere'}'"


def test_the_model_is_not_written_over(folder: Path, command: Command) -> None:
    before = (folder / "net.onnx").read_bytes()
    assert error(folder, command, "-o", folder / "net.onnx")["what"] == "is the model itself"
    assert (folder / "net.onnx").read_bytes() == before


def test_a_target_that_is_not_there(folder: Path, command: Command) -> None:
    assert error(folder, command, "-o", folder / "q.onnx", "--target", "moon")["what"] == "is unknown"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([3]), "output 'y' has classes 0 to 2"),
        (np.array([-1]), "output 'y' has classes 0 to 2"),
        (np.array([[0, 1]]), "are 2; output 'y' has 1 rows of scores"),
    ],
)
def test_labels_that_are_no_classes(labels: Any, expected: str) -> None:
    with pytest.raises(CompileError, match=expected):
        checked(accuracy(labels), {"y": np.zeros((1, 3), np.float32)}, 0)


def test_a_metric_that_ends_the_program() -> None:
    with pytest.raises(CompileError, match=r"metric on sample 7.*SystemExit: 3"):
        checked(lambda outputs, number: sys.exit(3), {}, 7)


def test_there_is_one_zero() -> None:
    seen = Histogram()
    seen.add(np.array([-0.0], np.float32))
    assert str(seen.low) == "0.0"


def test_weights_of_4_bits_are_stored_so_and_run_elsewhere(folder: Path, command: Command) -> None:
    words = ("quantise", folder / "net.onnx", "--data", folder / "s.npz", "--width", "classes=w4", "--processes", "1")
    for name, more in (("short", ["--int4"]), ("long", [])):
        assert command(*words, "-o", folder / f"{name}.onnx", *more).code == 0
    stored = {one.data_type for one in onnx.load(folder / "short.onnx").graph.initializer}
    assert onnx.TensorProto.INT4 in stored
    feeds = {"x": images(1)}
    short, long = (ort.InferenceSession(str(folder / f"{name}.onnx")).run(None, feeds)[0] for name in ("short", "long"))
    np.testing.assert_array_equal(short, long)


def test_pools_over_one_axis_are_predicted() -> None:
    net = Net(1, 8, 16)
    net.add(MaxPool((2,), (1,), (0, 0), (2,)))
    (node,) = net.graph().nodes
    kinds = {"X": TensorType("int8", (1, 8, 16)), "Y": TensorType("int8", (1, 8, 8))}
    extents = node.op.extents({name: kind.shape for name, kind in kinds.items()})
    call, pixels, taps, *_ = in_c.work("tw_maxpool_bytes_work").units(params_of, node.op, kinds, extents, 1)
    assert (call, pixels, taps) == (1.0, 8.0, 16.0)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_noise_that_is_no_number_is_the_worst(wrong: float) -> None:
    noise = Noise()
    noise.add(np.ones(2), np.array([0.0, wrong]))
    assert noise.db == -EXACT_DB


def test_decisions_of_the_network_are_compared_as_they_are() -> None:
    assert agreement(np.array([1]), np.array([2])) == 0.0
    assert scored({"class": np.array([1]), "scores": np.zeros(2, np.float16)}) == ["scores"]
    assert scored({"class": np.array([1])}) == ["class"]


@pytest.mark.parametrize("bias", [True, False])
def test_transposed_filters_of_groups_share_their_scales(bias: bool) -> None:
    random = np.random.default_rng(3)
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((4, 4, 6), (4, 2, 3)))
    builder = Builder("groups")
    names = [builder.input("x", type_of(x[:1])), builder.constant(w)]
    names += [builder.constant(np.array([1, -2, 3, 0.5], np.float32))] if bias else []
    op = ConvTranspose(2, strides=(2,), dilations=(1,), before=(0,), spatial=(13,))
    builder.output(builder.add(op, names)[0])
    assert quantise(builder.build(), {"x": x[:, None]}).report.snr_db > 25
