"""Small matrices of fixed size: solving, inverses, determinants, Cholesky and QR factors, step by step."""

from __future__ import annotations

from typing import Any

from tilewright.frontends.torch.repeating import chosen, numbered

LARGEST = 16
"""Rows of matrices; targets without loops have each as about ten operations."""


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """What solves a x = b, and the factors of the determinant of a, along the first axis: Gauss and Jordan's
    elimination with the largest pivots."""
    import torch

    size, outer = a.shape[-1], torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = torch.cat([a.expand(*outer, *a.shape[-2:]), b.expand(*outer, *b.shape[-2:])], -1)

    def eliminate(state: tuple[Any, Any], step: Any) -> tuple[tuple[Any, Any], Any]:
        both, is_singular = state
        rows = torch.arange(size)
        below = torch.where(rows < step, -1.0, chosen(both, -1, step).squeeze(-1).abs())
        pivot = below.argmax(-1, keepdim=True)
        order = torch.where(rows == step, pivot, torch.where(rows == pivot, step, rows))
        both = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
        row = chosen(both, -2, step)
        value = chosen(row, -1, step)
        pivots = value.squeeze(-1).squeeze(-1)
        is_singular = is_singular | (pivots == 0)  # behind a pivot of 0 nothing is a number
        is_swapped = pivot.squeeze(-1) != step
        factor = (torch.where(is_swapped, -1.0, 1.0) * pivots).masked_fill(is_singular, 0)
        scaled = row / value
        both = torch.where((rows == step).unsqueeze(-1), scaled, both - chosen(both, -1, step) * scaled)
        return (both, is_singular), factor

    (both, _), factors = numbered(eliminate, (both, torch.zeros(outer, dtype=torch.bool)), size)
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
    return _eliminated(a, a[..., :1])[1].prod(0) if _is_small(a) else NotImplemented


def sign_and_logarithm(a: Any) -> Any:
    """Of the determinant."""
    if not _is_small(a):
        return NotImplemented
    factors = _eliminated(a, a[..., :1])[1]
    return factors.sign().prod(0), factors.abs().log().sum(0)


def orthogonal_and_upper(a: Any, mode: str = "reduced") -> Any:
    """Householder's reflections, column by column, with the signs that LAPACK chooses."""
    import torch

    rows, columns = a.shape[-2:]
    if max(rows, columns) > LARGEST or not a.is_floating_point():
        return NotImplemented
    unit = torch.eye(rows, dtype=a.dtype)
    both = torch.cat([a, unit.expand(*a.shape[:-2], rows, rows)], -1)

    def reflect(both: Any, step: Any) -> tuple[Any, Any]:
        places = torch.arange(rows)
        column = torch.where(places < step, 0.0, chosen(both, -1, step).squeeze(-1))
        below = torch.where(places <= step, 0.0, column)
        head, length = chosen(column, -1, step), (column * column).sum(-1, keepdim=True).sqrt()
        normal = column - torch.where(places == step, torch.where(head < 0, length, -length), 0.0)
        is_done = (below * below).sum(-1, keepdim=True) == 0
        factor = torch.where(is_done, 0.0, 2 / torch.where(is_done, 1.0, (normal * normal).sum(-1, keepdim=True)))
        return both - (factor * normal).unsqueeze(-1) * (normal.unsqueeze(-2) @ both), step + 0

    both, _ = numbered(reflect, both, min(rows - 1, columns))
    kept = rows if mode == "complete" else min(rows, columns)
    upper, orthogonal = both[..., :kept, :columns].triu(), both[..., columns:].mT[..., :kept]
    return (a.new_zeros(0) if mode == "r" else orthogonal), upper


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Column by column: what is left of it over the root of its diagonal, whose products leave the others."""
    import torch

    if not _is_small(a):
        return NotImplemented
    size = a.shape[-1]

    def factor(left: Any, step: Any) -> tuple[Any, Any]:
        column = chosen(left, -1, step).squeeze(-1)
        found = torch.where(torch.arange(size) < step, 0.0, column / chosen(column, -1, step).sqrt())
        return left - found.unsqueeze(-1) * found.unsqueeze(-2), found

    _, columns = numbered(factor, a.clone(), size)
    lower = columns.movedim(0, -1)
    return lower.mT if upper else lower


def cholesky_with_info(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    found = cholesky(a, upper=upper)
    return found if found is NotImplemented else (found, _info(a))


def solved_by_cholesky(b: Any, factor: Any, upper: bool = False) -> Any:
    """One triangle, and then the other."""
    if not _is_small(factor):
        return NotImplemented
    lower = factor.mT if upper else factor
    return solved_triangle(lower.mT, solved_triangle(lower, b, upper=False), upper=True)


def inverse_by_cholesky(factor: Any, upper: bool = False) -> Any:
    import torch

    return solved_by_cholesky(torch.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


TERMS, MOST_SQUARES = 10, 24
"""Of the exponential's series below a norm of a half, and the powers of two that a norm is divided by."""


def exponential(a: Any) -> Any:
    """The series of a part of the matrix, squared as often as that part was halved."""
    import torch

    if not _is_small(a):
        return NotImplemented
    norm = a.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    halved = (norm.log2() + 1).ceil().clamp(0, MOST_SQUARES)
    part = a * torch.pow(0.5, halved)
    unit = torch.eye(a.shape[-1], dtype=a.dtype)
    found = unit + part / TERMS
    for term in range(TERMS - 1, 0, -1):
        found = unit + part @ found / term

    def squared(found: Any, number: Any) -> tuple[Any, Any]:
        return torch.where(halved > number, found @ found, found), number + 0

    return numbered(squared, found, MOST_SQUARES)[0]
