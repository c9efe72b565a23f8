"""Resampling along one axis: where each output position reads, and with which weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.records import dataclass

INWARD = "inward"
"""The rounding before opset 11, which does not name one: down, but up where the result is smaller."""


@dataclass(frozen=True)
class Resampling:
    """How output positions map to input positions, in ONNX's words."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False

    def nearest(self, size: int, result: int, scale: float) -> Array:
        """For each output position the input element that it shows."""
        name = self.rounding if self.rounding != INWARD else "floor" if scale >= 1 else "ceil"
        if name not in ROUNDING:
            raise Refusal(f"nearest_mode {name} is unknown", f"known: {', '.join(ROUNDING)}")
        where = ROUNDING[name](self._positions(size, result, scale))
        return np.clip(where, 0, size - 1).astype(np.int32)

    def taps(self, size: int, result: int, scale: float) -> tuple[Array, Array]:
        """For each output position the input elements it is made of and their weights, [result, taps] each."""
        where = self._positions(size, result, scale)
        reach, weigh = (2, self._cubic) if self.mode == "cubic" else (1, _triangle)
        # Downscaling with antialias widens the filter so that every input element takes part.
        stretch = min(scale, 1.0) if self.antialias else 1.0
        width = int(np.ceil(2 * reach / stretch))
        elements = np.floor(where - reach / stretch)[:, None] + 1 + np.arange(width)
        weights = weigh((elements - where[:, None]) * stretch)
        if self.exclude_outside:
            weights = np.where((elements >= 0) & (elements < size), weights, 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
        return np.clip(elements, 0, size - 1).astype(np.int32), weights.astype(np.float32)

    def _positions(self, size: int, result: int, scale: float) -> Array:
        """Output positions as (fractional) input positions."""
        convert = COORDINATES.get(self.coordinates)
        if convert is None:
            hint = f"supported: {', '.join(COORDINATES)}"
            raise Refusal(f"coordinate_transformation_mode {self.coordinates} is not supported", hint)
        # In float32, like the scale: three steps of 1 / 0.6 are five elements, not a little less.
        return np.asarray(convert(np.arange(result, dtype=np.float32), size, result, float(np.float32(scale))))

    def _cubic(self, distance: Array) -> Array:
        a = self.cubic_a
        x: Array = np.abs(distance)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * a - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _triangle(distance: Array) -> Array:
    return np.clip(1 - np.abs(distance), 0.0, 1.0)


def _half_pixel(x: Array, size: int, result: int, scale: float) -> Array:
    return (x + 0.5) / scale - 0.5


def _half_pixel_symmetric(x: Array, size: int, result: int, scale: float) -> Array:
    return size / 2 * (1 - result / (scale * size)) + (x + 0.5) / scale - 0.5


def _pytorch_half_pixel(x: Array, size: int, result: int, scale: float) -> Array:
    return _half_pixel(x, size, result, scale) if result > 1 else np.zeros_like(x)


def _tf_half_pixel(x: Array, size: int, result: int, scale: float) -> Array:
    return (x + 0.5) / scale


def _align_corners(x: Array, size: int, result: int, scale: float) -> Array:
    # Not the result's whole length: ONNX's reference scales to the last element that there would be in between.
    last = float(np.float32(scale * size)) - 1
    return x * ((size - 1) / last) if last else np.zeros_like(x)


def _asymmetric(x: Array, size: int, result: int, scale: float) -> Array:
    return x / scale


COORDINATES: dict[str, Callable[[Array, int, int, float], Array]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _tf_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
}

ROUNDING: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
