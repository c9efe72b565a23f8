"""Keras and TensorFlow: models, functions and files, recurrent layers as operators, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
pytest.importorskip("tf2onnx")

from keras import layers  # noqa: E402

from tilewright.frontends.keras import model as keras_model  # noqa: E402


def randn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(wanted), atol=1e-5)


@pytest.fixture(scope="module")
def model() -> Any:
    keras.utils.set_random_seed(0)
    return keras.Sequential([
        keras.Input((8, 8, 3), name="image"), layers.Conv2D(4, 3, activation="relu", name="stem"),
        layers.MaxPooling2D(), layers.Dropout(0.5), layers.Flatten(), layers.Dense(3, name="head"),
    ])  # fmt: skip


def test_a_model_in_two_lines(model: Any) -> None:
    program = tw.compile(model, (randn(1, 8, 8, 3),), target="generic")
    close(program.run(randn(1, 8, 8, 3))[0], model(randn(1, 8, 8, 3)))
    names = [layer.name for layer in program.analysis.layers]
    assert {"stem/Conv", "head"} <= set(names)
    assert list(program.graph.inputs) == ["image"]


def test_without_example_inputs_the_batch_is_one(model: Any) -> None:
    assert tw.compile(model).graph.types["image"].shape == (1, 8, 8, 3)
    assert tw.compile(model, (randn(2, 8, 8, 3),)).graph.types["image"].shape == (2, 8, 8, 3)


def test_several_inputs_and_outputs_are_named() -> None:
    left, right = keras.Input((3,), name="left"), keras.Input((3,), name="right")
    model = keras.Model([left, right], {"sum": left + right, "product": left * right})
    program = tw.compile(model, {"right": randn(1, 3), "left": randn(1, 3) + 1})
    assert list(program.graph.inputs) == ["left", "right"]
    result = program.run(randn(1, 3), randn(1, 3) + 1)
    assert set(result.outputs) == {"sum", "product"}
    close(result["sum"], 2 * randn(1, 3) + 1)


def test_subclassed_models_and_functions() -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(3, name="only")

        def call(self, x: Any) -> Any:
            return self.dense(x) * 2

    net, x = Net(), randn(1, 4)
    wanted = net(x)
    close(tw.compile(net, (x,)).run(x)[0], wanted)
    with pytest.raises(tw.CompileError, match="needs example inputs"):
        tw.compile(net)
    close(tw.compile(tf.function(lambda a: tf.nn.relu(a) + 1), (x,)).run(x)[0], np.maximum(x, 0) + 1)


def test_files(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "net.keras")
    model.export(tmp_path / "saved", verbose=False)
    x = randn(1, 8, 8, 3)
    for path in (tmp_path / "net.keras", tmp_path / "saved", str(tmp_path / "saved")):
        close(tw.compile(path).run(x)[0], model(x))


def test_broken_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.keras").write_bytes(b"no model")
    (tmp_path / "saved_model.pb").write_bytes(b"no model")
    for path, what in ((tmp_path / "broken.keras", "is no .keras file, or is damaged"), (tmp_path, "cannot be read")):
        with pytest.raises(tw.CompileError, match=what):
            tw.compile(path)


RECURRENT = {
    "LSTM": lambda: layers.LSTM(5, return_sequences=True),
    "LSTM, last": lambda: layers.LSTM(5, unit_forget_bias=False, bias_initializer="random_normal"),
    "LSTM backward": lambda: layers.LSTM(5, go_backwards=True, return_sequences=True),
    "LSTM, other functions": lambda: layers.LSTM(5, activation="relu", recurrent_activation="hard_sigmoid"),
    "LSTM, states": lambda: layers.LSTM(5, return_state=True),
    "LSTM, states and sequence": lambda: layers.LSTM(5, return_state=True, return_sequences=True),
    "GRU": lambda: layers.GRU(5, return_sequences=True, bias_initializer="random_normal"),
    "GRU, reset before": lambda: layers.GRU(5, reset_after=False, bias_initializer="random_normal"),
    "GRU, no bias": lambda: layers.GRU(5, use_bias=False, return_state=True),
    "RNN": lambda: layers.SimpleRNN(5, return_sequences=True),
    "both directions": lambda: layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
    "both directions, last": lambda: layers.Bidirectional(layers.GRU(5), merge_mode="sum"),
    "both directions, apart": lambda: layers.Bidirectional(layers.GRU(5, return_state=True), merge_mode=None),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers_are_operators(name: str) -> None:
    """They are ONNX's LSTM, GRU and RNN, and ONNX Runtime agrees with Keras on them."""
    ort = pytest.importorskip("onnxruntime")
    keras.utils.set_random_seed(1)
    sequence, x = keras.Input((7, 4), name="sequence"), randn(2, 7, 4)
    model = keras.Model(sequence, RECURRENT[name]()(sequence))
    proto = keras_model.exported(model, (x,)).proto
    kinds = {node.op_type for node in proto.graph.node}
    assert kinds & {"LSTM", "GRU", "RNN"}
    assert not kinds & {"Loop", "Scan", "PyFunc"}
    found = ort.InferenceSession(proto.SerializeToString()).run(None, {"sequence": x})
    wanted = tf.nest.flatten(model(x))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        close(one, other)


def test_initial_states_are_operands() -> None:
    ort = pytest.importorskip("onnxruntime")
    inputs = [keras.Input((7, 4), name="x"), keras.Input((5,), name="h"), keras.Input((5,), name="c")]
    model = keras.Model(inputs, layers.LSTM(5)(inputs[0], initial_state=inputs[1:]))
    given = {"x": randn(1, 7, 4), "h": randn(1, 5), "c": randn(1, 5) + 1}
    proto = keras_model.exported(model, given).proto
    close(ort.InferenceSession(proto.SerializeToString()).run(None, given)[0], model(list(given.values())))


def test_layers_compute_as_before_afterwards() -> None:
    sequence = keras.Input((7, 4))
    model = keras.Model(sequence, layers.LSTM(3)(sequence))
    before = model(randn(1, 7, 4))
    keras_model.exported(model, None)
    close(model(randn(1, 7, 4)), before)


def test_masks_states_and_unknown_sizes_are_refused() -> None:
    ids = keras.Input((7,), dtype="int32", name="ids")
    masked = keras.Model(ids, layers.LSTM(3)(layers.Embedding(9, 4, mask_zero=True)(ids)))
    sequence = keras.Input((None, 4), name="sequence")
    open_ended = keras.Model(sequence, layers.GRU(3)(sequence))
    fixed = keras.Input((7, 4), batch_size=1)
    stateful = keras.Model(fixed, layers.LSTM(3, stateful=True)(fixed))
    for model, what in (
        (masked, "uses a mask"),
        (open_ended, r"has shape \(None, None, 4\)"),
        (stateful, "keeps its state between calls"),
    ):
        with pytest.raises(tw.CompileError, match=what):
            keras_model.exported(model, None)
    assert keras_model.exported(open_ended, (randn(1, 9, 4),)).proto.graph.input[0].name == "sequence"


def test_tensors_from_outside_are_constants() -> None:
    inner = keras.Input((2, 3), name="x")
    normal = layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0])
    model, x = keras.Model(inner, normal(inner)), randn(1, 2, 3)
    program = tw.compile(model, (x,))
    assert list(program.graph.inputs) == ["x"]
    close(program.run(x)[0], model(x))
    weights = tf.constant(randn(3, 2))
    close(tw.compile(tf.function(lambda y: y @ weights), (x[0],)).run(x[0])[0], x[0] @ weights)


def test_what_is_not_selected_does_not_matter() -> None:
    inner = keras.Input((3,))
    model = keras.Model(inner, keras.ops.where(inner > 0, keras.ops.log(inner), 0.0))
    x = np.asarray([[-1, 1, 2]], np.float32)
    close(tw.compile(model, (x,)).run(x)[0], model(x))


def test_argmax_and_median() -> None:
    inner, x = keras.Input((4, 5)), randn(1, 4, 5)
    model = keras.Model(inner, {"best": keras.ops.argmax(inner, -1), "middle": keras.ops.median(inner, 1)})
    found = tw.compile(model, (x,)).run(x)
    np.testing.assert_array_equal(found["best"], x.argmax(-1))
    close(found["middle"], np.median(x, 1))


def test_spectra_and_functions_that_tf2onnx_lacks() -> None:
    sound = keras.Input((96,))
    mel = layers.MelSpectrogram(fft_length=32, sequence_stride=16, sampling_rate=800, num_mel_bins=4)(sound)
    model = keras.Model(sound, [mel, keras.ops.celu(sound)])
    result = tw.compile(model).run(randn(1, 96))
    for found, wanted in zip(result.outputs.values(), model(randn(1, 96)), strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), atol=1e-4)
    spectrum = tf.function(lambda x: tf.abs(tf.signal.rfft(x, [20])))
    close(tw.compile(spectrum, (randn(2, 16),)).run(randn(2, 16))[0], np.abs(np.fft.rfft(randn(2, 16), 20)))


def test_complex_numbers_that_are_changed_are_refused() -> None:
    turned = tf.function(lambda x: tf.math.real(tf.transpose(tf.signal.rfft(x))))
    with pytest.raises(tw.CompileError, match="RFFT"):
        tw.compile(turned, (randn(2, 16),))


def test_variables_that_a_call_changes_are_refused() -> None:
    class Counting(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x: Any) -> Any:
            self.count.assign_add(1.0)
            return x + self.count

    with pytest.raises(tw.CompileError, match="changes a variable when it is called") as error:
        tw.compile(Counting(), (randn(1, 3),))
    assert "states=" in error.value.hint
