"""LiteRT with XNNPACK."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    given = sorted(interpreter.get_input_details(), key=lambda one: one["name"])
    made = sorted(interpreter.get_output_details(), key=lambda one: one["name"])

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        for one, array in zip(given, inputs, strict=True):
            interpreter.set_tensor(one["index"], array.astype(one["dtype"], copy=False))
        interpreter.invoke()
        return [interpreter.get_tensor(one["index"]) for one in made]

    return compute
