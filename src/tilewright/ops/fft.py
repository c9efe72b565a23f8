from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass


@dataclass(frozen=True)
class FFT(Internal):
    """The Fourier transform of a power of two of points, along the last axis but one; the last one holds both parts.

    `W` are the roots of unity, so that their sign tells forward from inverse.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "W")
    factor: float = 1.0

    def index(self, shapes: Shapes) -> Index:
        length, parts = shapes["X"][-2:]
        rows = axis_loops(len(shapes["X"]) - 2)
        return {
            "X": (*rows, whole(length), whole(parts)), "W": (whole(length // 2), whole(2)),
            "Y": (*rows, whole(length), whole(2)),
        }  # fmt: skip

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-2])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if any(kind.dtype != "float32" for kind in types.values()):
            raise Refusal("operands that are not float32", "insert a Cast")
        if len(shape) < 2 or shape[-1] not in (1, 2) or shape[-2] < 2 or shape[-2] & (shape[-2] - 1):
            raise Refusal(f"a fast transform of shape {shape} is not supported")
        if types["W"].shape != (shape[-2] // 2, 2):
            raise Refusal(f"roots of shape {types['W'].shape} for {shape[-2]} points")

    def numpy(self, X: Array, W: Array) -> Array:
        points = X[..., 0] if X.shape[-1] == 1 else X[..., 0] + 1j * X[..., 1].astype(np.complex128)
        forward = bool(W[W.shape[0] // 2, 1] <= 0)
        found = np.fft.fft(points) if forward else np.fft.ifft(points, norm="forward")
        return np.asarray(np.stack([found.real, found.imag], axis=-1) * self.factor, X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        """The transform in the other direction; of numbers without an imaginary part, the real part of that."""
        roots = at["W"] * at["W"].constant(np.array([1.0, -1.0]))
        found = at.gradient.apply("FFT", roots, factor=self.factor)
        return {"X": found.part(found.rank - 1, 0, at["X"].shape[-1])}
