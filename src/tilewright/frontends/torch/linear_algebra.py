"""Small matrices of fixed size: solving, inverses, determinants, Cholesky and QR factors, step by step."""

from __future__ import annotations

import math
from typing import Any

LARGEST = 16
"""Rows of matrices that are written out; each is a step of about ten operations."""


def _eliminated(a: Any, b: Any) -> tuple[Any, list[Any]]:
    """What solves a x = b, and the factors of the determinant of a: Gauss and Jordan's elimination with the largest
    pivots."""
    import torch

    size, outer = a.shape[-1], torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = torch.cat([a.expand(*outer, *a.shape[-2:]), b.expand(*outer, *b.shape[-2:])], -1)
    rows, factors = torch.arange(size), []
    is_singular = torch.zeros(outer, dtype=torch.bool)
    for step in range(size):
        below = torch.where(rows < step, -1.0, both[..., step].abs())
        pivot = below.argmax(-1, keepdim=True)
        order = torch.where(rows == step, pivot, torch.where(rows == pivot, step, rows))
        both = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
        chosen = both[..., step : step + 1, :]
        value = chosen[..., step : step + 1]
        is_swapped = pivot.squeeze(-1) != step
        pivots = value.squeeze(-1).squeeze(-1)
        is_singular = is_singular | (pivots == 0)  # behind a pivot of 0 nothing is a number
        factors.append((torch.where(is_swapped, -1.0, 1.0) * pivots).masked_fill(is_singular, 0))
        scaled = chosen / value
        is_chosen = (rows == step).unsqueeze(-1)
        both = torch.where(is_chosen, scaled, both - both[..., step : step + 1] * scaled)
    return both[..., size:], factors


def _is_small(a: Any) -> bool:
    return a.shape[-1] <= LARGEST and a.is_floating_point()


def _info(a: Any) -> Any:
    import torch

    return torch.zeros(a.shape[:-2], dtype=torch.int32)


def inverse(a: Any) -> Any:
    import torch

    return _eliminated(a, torch.eye(a.shape[-1], dtype=a.dtype))[0] if _is_small(a) else NotImplemented


def inverse_with_info(a: Any, *, check_errors: bool = False) -> Any:
    found = inverse(a)
    return found if found is NotImplemented else (found, _info(a))


def solved(a: Any, b: Any, *, left: bool = True) -> Any:
    if not _is_small(a):
        return NotImplemented
    if b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1]):
        return _eliminated(a, b.unsqueeze(-1))[0].squeeze(-1)
    return _eliminated(a, b)[0] if left else _eliminated(a.mT, b.mT)[0].mT


def solved_triangle(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    import torch

    if not _is_small(a):
        return NotImplemented
    triangle = a.triu(int(unitriangular)) if upper else a.tril(-int(unitriangular))
    return solved(triangle + torch.eye(a.shape[-1], dtype=a.dtype) if unitriangular else triangle, b, left=left)


def determinant(a: Any) -> Any:
    return math.prod(_eliminated(a, a[..., :1])[1]) if _is_small(a) else NotImplemented


def sign_and_logarithm(a: Any) -> Any:
    """Of the determinant."""
    if not _is_small(a):
        return NotImplemented
    factors = _eliminated(a, a[..., :1])[1]
    logarithm = sum(factor.abs().log() for factor in factors)
    return math.prod(factor.sign() for factor in factors), logarithm


def orthogonal_and_upper(a: Any, mode: str = "reduced") -> Any:
    """Householder's reflections, column by column, with the signs that LAPACK chooses."""
    import torch

    rows, columns = a.shape[-2:]
    if max(rows, columns) > LARGEST or not a.is_floating_point():
        return NotImplemented
    places = torch.arange(rows)
    unit = torch.eye(rows, dtype=a.dtype)
    both = torch.cat([a, unit.expand(*a.shape[:-2], rows, rows)], -1)
    for at in range(min(rows - 1, columns)):
        column = torch.where(places < at, 0.0, both[..., at])
        below = torch.where(places <= at, 0.0, column)
        head, length = column[..., at : at + 1], (column * column).sum(-1, keepdim=True).sqrt()
        normal = column - torch.where(head < 0, length, -length) * unit[at]
        is_done = (below * below).sum(-1, keepdim=True) == 0
        factor = torch.where(is_done, 0.0, 2 / torch.where(is_done, 1.0, (normal * normal).sum(-1, keepdim=True)))
        both = both - (factor * normal).unsqueeze(-1) * (normal.unsqueeze(-2) @ both)
    kept = rows if mode == "complete" else min(rows, columns)
    upper, orthogonal = both[..., :kept, :columns].triu(), both[..., columns:].mT[..., :kept]
    return (a.new_zeros(0) if mode == "r" else orthogonal), upper


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Column by column: what is left of each, over the root of its diagonal."""
    import torch

    if not _is_small(a):
        return NotImplemented
    size = a.shape[-1]
    rows = torch.arange(size)
    columns: list[Any] = []
    for at in range(size):
        left = a[..., at]
        for column in columns:
            left = left - column * column[..., at : at + 1]
        found = left / left[..., at : at + 1].sqrt()
        columns.append(torch.where(rows < at, 0.0, found))
    lower = torch.stack(columns, -1)
    return lower.mT if upper else lower


def cholesky_with_info(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    found = cholesky(a, upper=upper)
    return found if found is NotImplemented else (found, _info(a))
