"""Small matrices of fixed size: solving, inverses, determinants and Cholesky factors, step by step."""

from __future__ import annotations

from typing import Any

LARGEST = 16
"""Rows of matrices that are written out; each is a step of about ten operations."""


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """What solves a x = b, and the determinant of a: Gauss and Jordan's elimination with the largest pivots."""
    import torch

    size, outer = a.shape[-1], torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = torch.cat([a.expand(*outer, *a.shape[-2:]), b.expand(*outer, *b.shape[-2:])], -1)
    rows, determinant = torch.arange(size), torch.ones(outer, dtype=a.dtype)
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
        determinant = determinant * torch.where(is_swapped, -1.0, 1.0) * pivots
        is_singular = is_singular | (pivots == 0)
        scaled = chosen / value
        is_chosen = (rows == step).unsqueeze(-1)
        both = torch.where(is_chosen, scaled, both - both[..., step : step + 1] * scaled)
    return both[..., size:], determinant.masked_fill(is_singular, 0)  # behind a pivot of 0 nothing is a number


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


def determinant(a: Any) -> Any:
    return _eliminated(a, a[..., :1])[1] if _is_small(a) else NotImplemented


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
