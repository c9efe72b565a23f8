"""A network with its inputs, and what others say that it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnx import ModelProto

from tilewright.ir.types import Array

EXACT = 0.0


@dataclass(frozen=True)
class Case:
    model: bytes
    """Of a file: ONNX or TensorFlow Lite."""
    feeds: Mapping[str, Array]
    expected: Mapping[str, Array]
    """By another runtime; empty where there is none."""
    allowed: Mapping[str, float] = field(default_factory=dict)
    """How far outputs may be from those: 0 for exactly; outputs that are not named, as far as floats are rounded."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """With which it is imported."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """How it is trained; empty where it does not learn. Feeds are then those of all steps, one behind another."""

    @property
    def suffix(self) -> str:
        return ".tflite" if self.model[4:8] == b"TFL3" else ".onnx"

    @property
    def proto(self) -> ModelProto:
        return ModelProto.FromString(self.model)
