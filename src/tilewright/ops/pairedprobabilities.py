from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

NEVER_SURE = 1e-7
"""Probabilities of a pair keep this distance from 0 and 1."""


@dataclass(frozen=True)
class PairedProbabilities(Internal):
    """Probabilities of all classes, of those that the first of each pair is the right one: (0, 1), (0, 2), ..., (1, 2).

    Wu, Lin and Weng's second method, with as many steps as LIBSVM takes: until no error is above 0.005 / classes.
    """

    operands: ClassVar[tuple[str, ...]] = ("X",)
    classes: int = 2

    def index(self, shapes: Shapes) -> Index:
        (sample,) = loops("n")
        return {"X": (sample, whole(shapes["X"][1])), "Y": (sample, whole(self.classes))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, pairs = types["X"], self.classes * (self.classes - 1) // 2
        if kind.dtype != "float32" or len(kind.shape) != 2 or kind.shape[1] != pairs:
            raise Refusal(f"probabilities of {self.classes} classes from {kind}")

    def numpy(self, X: Array) -> Array:
        return np.stack([self._of_one(row) for row in X]) if len(X) else np.zeros((0, self.classes), np.float32)

    def _of_one(self, pairs: Array) -> Array:
        k = self.classes
        R = np.zeros((k, k), np.float32)
        low, high = np.float32(NEVER_SURE), np.float32(1 - NEVER_SURE)
        for value, (first, second) in zip(pairs, combinations(range(k), 2), strict=True):
            R[first, second] = np.clip(value, low, high)
            R[second, first] = np.float32(1) - R[first, second]
        Q = -R.T * R
        np.fill_diagonal(Q, np.sum(R * R, axis=0))
        P = np.full(k, 1 / np.float32(k), np.float32)
        for _ in range(max(100, k)):
            Qp = (Q @ P).astype(np.float32)
            pQp = np.float32(P @ Qp)
            if np.abs(Qp - pQp).max() < np.float32(0.005 / k):
                break
            for t in range(k):
                step = (pQp - Qp[t]) / Q[t, t]
                P[t] += step
                pQp = (pQp + step * (step * Q[t, t] + 2 * Qp[t])) / (1 + step) / (1 + step)
                Qp = (Qp + step * Q[t]) / (1 + step)
                P /= 1 + step
        return P
