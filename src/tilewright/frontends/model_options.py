"""What the user says about a model, whichever reader takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class ModelOptions:
    dims: Mapping[str, int] = field(default_factory=dict)
    """Values of symbolic dimensions."""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Element types of graph inputs that are integers declared as FLOAT."""
    example_inputs: Mapping[str, Array] = field(default_factory=dict)
    """By name or in order. They only choose the width of inputs that are proven to be integers."""
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Shapes of graph inputs, whatever their axes are called."""
    bind: Mapping[str, Any] = field(default_factory=dict)
    """Graph inputs that are fixed to a value and then are none any more."""
    constants: Mapping[str, Array] = field(default_factory=dict)
    """Tensors that nodes read and the file does not hold, as those of a program that makes its graph itself."""
    states: Mapping[str, str] = field(default_factory=dict)
    """Graph inputs that a call takes from an output of the call before, and these outputs."""
    max_trips: int | None = None
    """Turns of loops whose number depends on data, at most."""
    random_seed: int | None = None
    """Of random numbers, which are drawn once, when the model is read; None where there may be none."""
    tflite_rounding: str = ""
    """The runtime whose arithmetic a TensorFlow Lite file means, by its name in tflite/arithmetic.py."""
