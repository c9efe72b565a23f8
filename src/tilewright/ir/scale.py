"""What the integers of an input or output stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from tilewright.records import dataclass

SCALED = ("int8", "uint8", "int16", "uint16")
"""Element types of integers that stand for real numbers."""


@dataclass(frozen=True)
class Scale:
    """real value = scale * (integer - zero_point)"""

    scale: float
    zero_point: int

    def __str__(self) -> str:
        offset = f"{-self.zero_point:+d}".replace("+", "+ ").replace("-", "- ")
        scale = str(np.float32(self.scale))
        return f"{scale} * (integer {offset})" if self.zero_point else f"{scale} * integer"


@dataclass(frozen=True)
class Scales:
    """Of inputs, and of outputs by the names that users call them; those of floats and of plain integers have none."""

    inputs: Mapping[str, Scale] = field(default_factory=dict)
    outputs: Mapping[str, Scale] = field(default_factory=dict)
    inner: Mapping[str, Scale] = field(default_factory=dict)
    """Of tensors as they were imported, where a file states them."""


NO_SCALES = Scales()
