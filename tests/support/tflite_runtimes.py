"""What TensorFlow Lite's own runtimes give; tests that ask them are skipped where they are not installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tilewright.ir.types import Array

ARENA = 2**17
"""Bytes: tables of 16-bit functions are more than a small file makes it ask for."""


def micro(data: bytes, inputs: Sequence[Array], outputs: int, arena: int = ARENA) -> list[Array]:
    """TensorFlow Lite Micro, with its reference kernels."""
    runtime: Any = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="pip install tflite-micro")
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena)
    for position, array in enumerate(inputs):
        interpreter.set_input(array, position)
    interpreter.invoke()
    return [interpreter.get_output(position) for position in range(outputs)]


def litert(data: bytes, inputs: Sequence[Array], resolver: str = "BUILTIN_REF") -> list[Array]:
    """LiteRT: BUILTIN_REF has its reference kernels, BUILTIN_WITHOUT_DEFAULT_DELEGATES the optimised ones."""
    runtime: Any = pytest.importorskip("ai_edge_litert.interpreter", reason="pip install ai-edge-litert")
    kind = getattr(runtime.OpResolverType, resolver)
    interpreter = runtime.Interpreter(model_content=data, experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
