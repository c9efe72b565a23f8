"""ONNX Runtime as a peer of the quantiser: its `quantize_static` at its best, and what a model scores."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_static,
)

Floats = NDArray[np.float32]
SETTINGS = ("MinMax", "Entropy", "Percentile")


class Reader(CalibrationDataReader):
    """One sample at a time, as the exported networks take them."""

    def __init__(self, name: str, samples: Floats) -> None:
        self.feeds: Iterator[dict[str, Floats]] = ({name: sample[None]} for sample in samples)

    def get_next(self) -> dict[str, Floats] | None:
        return next(self.feeds, None)


def session_of(model: onnx.ModelProto | Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(model) if isinstance(model, Path) else model.SerializeToString(), options)


def scores(model: onnx.ModelProto | Path, samples: Floats) -> Floats:
    """What ONNX Runtime gives for each sample; an axis of samples in front."""
    session = session_of(model)
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: sample[None]})[0] for sample in samples])


def quantised(path: Path, samples: Floats, setting: str) -> onnx.ModelProto:
    """The model after ONNX Runtime's own preparation and `quantize_static`: QDQ, int8, weights per channel."""
    with tempfile.TemporaryDirectory() as folder:
        prepared, result = Path(folder) / "prepared.onnx", Path(folder) / "quantised.onnx"
        # Symbolic shapes need sympy and serve networks whose shapes are not known; these have no such.
        quant_pre_process(path, prepared, skip_symbolic_shape=True)
        name = session_of(prepared).get_inputs()[0].name
        with contextlib.redirect_stdout(io.StringIO()):
            quantize_static(
                prepared, result, Reader(name, samples), QuantFormat.QDQ, per_channel=True,
                activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                calibrate_method=CalibrationMethod[setting],
            )  # fmt: skip
        return onnx.load(result)


def accuracy(found: Floats, labels: NDArray[np.int64]) -> float:
    return float(np.mean(found.reshape(len(labels), -1).argmax(axis=1) == labels))


def snr_db(wanted: NDArray[np.floating], found: NDArray[np.floating]) -> float:
    """The power of what is wanted over that of the error, in dB; infinite where nothing differs."""
    wanted, found = wanted.astype(np.float64), found.astype(np.float64)
    noise = float(np.sum((wanted - found) ** 2))
    return float("inf") if noise == 0.0 else float(10 * np.log10(np.sum(wanted**2) / noise))
