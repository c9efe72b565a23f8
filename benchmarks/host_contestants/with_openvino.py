"""OpenVINO's CPU device, for latency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    # Half precision, where processors have it, would be another network; networks of bytes are slower without it.
    if not path.stem.endswith("int8"):
        options["INFERENCE_PRECISION_HINT"] = "f32"
    request = openvino.Core().compile_model(str(path), "CPU", options).create_infer_request()

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        return list(request.infer(inputs, share_inputs=True, share_outputs=True).values())

    return compute
