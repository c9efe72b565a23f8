"""Functions of single numbers that PyTorch's ONNX exporter lacks, written with others."""

from __future__ import annotations

import math
from typing import Any

LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
"""Coefficients of Lanczos' approximation of the gamma function with g = 7."""
CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
TAILS = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip
"""Giles' polynomials for the inverse error function in single precision, the highest power first."""


def log_gamma(x: Any) -> Any:
    import torch

    is_left = x < 0.5
    z = torch.where(is_left, 1 - x, x) - 1
    total = LANCZOS[0] + sum(coefficient / (z + place) for place, coefficient in enumerate(LANCZOS[1:], 1))
    t = z + 7.5
    right = 0.5 * math.log(2 * math.pi) + (z + 0.5) * t.log() - t + total.log()
    # The sine of the part behind the point: that of the whole loses digits.
    mirrored = math.log(math.pi) - (math.pi * (x - x.floor())).sin().abs().log() - right
    return torch.where(is_left, mirrored, right)


def inverse_erf(x: Any) -> Any:
    import torch

    w = -((1 - x) * (1 + x)).clamp(min=1e-37).log()
    central, tail = _polynomial(CENTRAL, w - 2.5), _polynomial(TAILS, w.sqrt() - 3)
    inside = torch.where(w < 5, central, tail) * x
    at_the_ends = torch.where(x > 0, math.inf, -math.inf)
    return torch.where(x.abs() > 1, math.nan, torch.where(x.abs() == 1, at_the_ends, inside))


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    total = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def length_of_both(a: Any, b: Any) -> Any:
    """sqrt(a * a + b * b) that does not overflow."""
    import torch

    largest, least = torch.maximum(a.abs(), b.abs()), torch.minimum(a.abs(), b.abs())
    part = least / torch.where(largest == 0, torch.ones_like(largest), largest)
    return largest * (1 + part * part).sqrt()


def with_sign_of(size: Any, sign: Any) -> Any:
    """Of a negative zero, too."""
    import torch

    is_negative = (sign < 0) | ((sign == 0) & (1 / sign < 0))
    return torch.where(is_negative, -size.abs(), size.abs())


def with_sign_of_number(size: Any, sign: float) -> Any:
    return -size.abs() if math.copysign(1.0, sign) < 0 else size.abs()
