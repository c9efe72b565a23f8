"""Operations of PyTorch that choose elements, written so that no shape depends on data."""

from __future__ import annotations

import math
from typing import Any

from tilewright.errors import CompileError


def largest_so_far(x: Any, dim: int) -> Any:
    return _so_far(x, dim, -math.inf)


def least_so_far(x: Any, dim: int) -> Any:
    values, places = _so_far(-x, dim, -math.inf)
    return -values, places


def _so_far(x: Any, dim: int, nothing: float) -> Any:
    """The largest of each element and those before it, and where the last of equals stands."""
    import torch

    if not x.is_floating_point():
        return NotImplemented
    moved, size = x.movedim(dim, -1), x.shape[dim]
    is_later = torch.ones(size, size, dtype=torch.bool).triu(1)
    seen = moved.unsqueeze(-2).expand(*moved.shape[:-1], size, size).masked_fill(is_later, nothing)
    places = size - 1 - seen.flip(-1).argmax(-1)
    return seen.amax(-1).movedim(-1, dim), places.movedim(-1, dim)


def kth_value(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    values, places = x.sort(dim)
    found = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return found if keepdim else tuple(value.squeeze(dim) for value in found)


def sorted_stably(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """The operator that sorting becomes keeps equals in their order."""
    return x.sort(dim, descending)


def argsorted_stably(x: Any, *, stable: bool, dim: int = -1, descending: bool = False) -> Any:
    return x.sort(dim, descending)[1]


def scattered_means(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Sums over counts: ONNX has no means."""
    import torch

    if reduce != "mean" or not x.is_floating_point() or not x.dim():
        return NotImplemented
    ones, is_met = torch.ones_like(src), torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(src))
    found, counts = x, torch.ones_like(x)
    if not include_self:
        found, counts = torch.where(is_met > 0, 0.0, x), torch.where(is_met > 0, 0.0, counts)
    return found.scatter_add(dim, index, src) / counts.scatter_add(dim, index, ones)


def most_frequent(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of those that are most frequent, and where the last of these stands."""
    import torch

    moved, size = x.movedim(dim, -1), x.shape[dim]
    counts = (moved.unsqueeze(-1) == moved.unsqueeze(-2)).to(torch.int64).sum(-1)
    highest = math.inf if x.is_floating_point() else torch.iinfo(x.dtype).max
    values = moved.masked_fill(counts < counts.amax(-1, keepdim=True), highest).amin(-1, keepdim=True)
    places = size - 1 - (moved == values).to(torch.int64).flip(-1).argmax(-1, keepdim=True)
    found = values.movedim(-1, dim), places.movedim(-1, dim)
    return found if keepdim else tuple(value.squeeze(dim) for value in found)


def masked(x: Any, mask: Any) -> Any:
    """Elements where a mask says so, one behind the other."""
    import torch

    x, mask = torch.broadcast_tensors(x, mask)
    return x[mask]


def frequencies(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number below `minlength` is there, or the sums of their weights."""
    import torch

    if not minlength:
        what = "without minlength gives a tensor whose size depends on the inputs"
        raise CompileError("bincount", what, "give it minlength: one more than the largest number that is counted")
    is_one = x.unsqueeze(0) == torch.arange(minlength).unsqueeze(1)
    if weights is None:
        return is_one.to(torch.int64).sum(-1)
    return torch.where(is_one, weights if weights.is_floating_point() else weights.to(torch.float64), 0.0).sum(-1)


def put_slice(
    x: Any, source: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """`x[start:end] = source` along an axis: the elements before it, the source, and the elements after it."""
    import torch

    size = x.shape[dim]
    if step != 1 or not all(isinstance(number, int | None) for number in (size, start, end)):
        return NotImplemented
    first, last, _ = slice(start, end).indices(size)
    last = max(first, last)  # nothing is written where the end comes before the start
    parts = (x.narrow(dim, 0, first), source, x.narrow(dim, last, size - last))
    return torch.cat([part for part in parts if part.shape[dim]], dim)


def put_where(x: Any, indices: list[Any], values: Any, accumulate: bool = False) -> Any:
    """`x[mask] = value`: one value where a mask says so."""
    import torch

    if not is_masked(x, indices, values):
        return NotImplemented
    mask = indices[0].reshape(*indices[0].shape, *(1,) * (x.dim() - indices[0].dim()))
    value = values.reshape(()).to(x.dtype)
    return torch.where(mask, x + value if accumulate else value, x)


def is_masked(x: Any, indices: list[Any], values: Any) -> bool:
    """Whether one mask of the first axes chooses where one value goes."""
    import torch

    return len(indices) == 1 and indices[0] is not None and indices[0].dtype == torch.bool and values.numel() == 1


def bags(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """Sums, means or maxima of the rows in each bag: which bag a row belongs to is a matrix of ones and zeros."""
    import torch

    if padding_idx is not None and padding_idx >= 0:
        return NotImplemented
    starts = offsets[:-1] if include_last_offset else offsets
    place = torch.arange(indices.shape[0], device=indices.device)
    of_row = (place.unsqueeze(1) >= starts.unsqueeze(0)).to(torch.int64).sum(1) - 1
    is_in = of_row.unsqueeze(0) == torch.arange(starts.shape[0]).unsqueeze(1)
    counts, rows = is_in.to(torch.int64).sum(1), weight[indices]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if mode == 2:
        every = rows.unsqueeze(0).masked_fill(~is_in.unsqueeze(-1), -math.inf).amax(1)
        found = torch.where(counts.unsqueeze(1) > 0, every, torch.zeros_like(every))
    else:
        found = is_in.to(rows.dtype) @ rows
        found = found / counts.clamp(min=1).to(rows.dtype).unsqueeze(1) if mode == 1 else found
    return found, of_row, counts, torch.zeros_like(counts)


def products_by_group(x: Any, matrices: Any, ends: Any) -> Any:
    """Rows of x, sorted by group, times the matrix of their group, which ends before the row `ends` of it.

    How many rows a group has depends on data, how many there are in all does not. Few rows take a copy of their
    matrices; many are multiplied with each, and those of other groups are zero then.
    """
    import torch

    rows, groups = torch.arange(x.shape[0]).unsqueeze(0), ends.unsqueeze(1)
    if x.shape[0] <= matrices.shape[0]:
        group = (rows >= groups).sum(0).clamp(max=matrices.shape[0] - 1)
        return torch.matmul(x.unsqueeze(1), matrices.index_select(0, group)).squeeze(1)
    is_before = rows < groups
    is_later = torch.cat([torch.zeros_like(is_before[:1]), is_before[:-1]])
    mine = (is_before & ~is_later).to(x.dtype).unsqueeze(-1)
    return torch.matmul(x.unsqueeze(0) * mine, matrices).sum(0)
