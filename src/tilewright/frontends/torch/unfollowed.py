"""Functions that torch.export cannot follow, because PyTorch has no shapes of their results or looks at numbers on the
way: least squares and covariances, written with functions that it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def written_out(function: Any) -> Callable[..., Any] | None:
    """What computes the same; None for other functions."""
    import torch

    known: dict[Any, Callable[..., Any]] = {
        torch.linalg.lstsq: _least_squares,
        torch.cov: _covariances, torch.Tensor.cov: _covariances,
        torch.corrcoef: _correlations, torch.Tensor.corrcoef: _correlations,
    }  # fmt: skip
    return known.get(function)


def _least_squares(a: Any, b: Any, rcond: float | None = None, *, driver: str = "gelsy") -> Any:
    """By the pseudo-inverse. Residuals, ranks and singular values are empty where the driver gives none. PyTorch has no
    residuals of matrices without full rank either; that is not looked at."""
    import torch

    rows, columns = a.shape[-2:]
    is_vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    right = b.unsqueeze(-1) if is_vector else b
    limit = max(rows, columns) * torch.finfo(a.dtype).eps if rcond is None else rcond
    solution = torch.linalg.pinv(a, rtol=limit) @ right
    residuals = values = a.new_zeros(0)
    rank = torch.zeros(0, dtype=torch.int64)
    if rows > columns and driver != "gelsy":
        residuals = ((a @ solution - right) ** 2).sum(-2)
    if driver != "gels":
        singular = torch.linalg.svdvals(a)
        rank = (singular > limit * singular[..., :1]).sum(-1)
        values = values if driver == "gelsy" else singular
    found = solution.squeeze(-1) if is_vector else solution
    return torch.return_types.linalg_lstsq((found, residuals, rank, values))


def _covariances(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Of rows; weights of columns are how often each counts, and how much."""
    import torch

    rows = x.reshape(1, -1) if x.dim() < 2 else x
    times = torch.ones(rows.shape[1]) if fweights is None else fweights.to(torch.float32)
    weights = times if aweights is None else times * aweights
    total = weights.sum()
    lost = correction if aweights is None else correction * (weights * aweights).sum() / total
    centred = rows - (rows * weights).sum(1, keepdim=True) / total
    left = (total - lost).clamp(min=0)  # as PyTorch has it, where more is taken away than there is
    found = (centred * weights) @ centred.mT.conj() / left
    return found.squeeze() if x.dim() < 2 else found


def _correlations(x: Any) -> Any:
    import torch

    found = _covariances(x)
    if x.dim() < 2:
        return found / found
    spread = found.diagonal().real.sqrt()
    found = found / spread.unsqueeze(1) / spread
    return found if found.is_complex() else torch.clamp(found, -1, 1)
