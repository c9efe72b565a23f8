"""ONNX Runtime, its own CPU kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        return session.run(None, dict(zip(names, inputs, strict=True)))

    return compute
