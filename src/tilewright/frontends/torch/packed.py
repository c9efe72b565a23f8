"""Packed sequences of lengths that no input decides: sequences of one length are a batch of their own.

A packed tensor has the rows of all sequences step by step, the longest sequence first; `batch_sizes` says how many
there are of each step. Sequences of one length stand beside each other in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tilewright.records import dataclass

CELLS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def written_out(function: Any, positional: Any) -> Callable[..., Any] | None:
    """What computes the same with tensors of fixed sizes, if the second operand is known: lengths, or how many
    sequences each step has. None where no packed sequence has a part in the call."""
    import torch

    if function is torch._VF._pack_padded_sequence:
        return _packed
    if function is torch._VF._pad_packed_sequence:
        return _padded
    is_cell = any(function is getattr(torch._VF, name) for name in CELLS)
    sizes = positional[1] if is_cell and len(positional) > 1 else None
    if not isinstance(sizes, torch.Tensor) or sizes.dtype != torch.int64:
        return None
    return lambda *operands: _run(function, *operands)


@dataclass(frozen=True)
class Group:
    """Sequences of one length, by their places among all of them."""

    steps: int
    first: int
    end: int


def _lengths(sizes: list[int]) -> list[int]:
    """Of sequences, from how many there are of each step."""
    return [sum(size > sequence for size in sizes) for sequence in range(sizes[0])]


def _groups(lengths: list[int]) -> list[Group]:
    found = itertools.groupby(range(len(lengths)), lengths.__getitem__)
    return [Group(steps, places[0], places[-1] + 1) for steps, group in found for places in [list(group)]]


def _rows(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where the row of a step of a sequence lies in a packed tensor."""
    return {place: row for row, place in enumerate((step, at) for step, size in enumerate(sizes) for at in range(size))}


def _packed(x: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
    import torch

    known = lengths.tolist()
    sizes = [sum(length > step for length in known) for step in range(max(known))]
    outer, inner = x.shape[:2]
    rows = [at * inner + step if batch_first else step * inner + at for step, at in _rows(sizes)]
    data = x.reshape(outer * inner, *x.shape[2:]).index_select(0, torch.tensor(rows))
    return data, torch.tensor(sizes)


def _padded(data: Any, batch_sizes: Any, batch_first: bool, padding: float, total: int = -1) -> tuple[Any, Any]:
    import torch

    sizes = batch_sizes.tolist()
    steps, places = max(total, len(sizes)), _rows(sizes)
    order = [(step, at) for at in range(sizes[0]) for step in range(steps)]
    order = order if batch_first else [(step, at) for step in range(steps) for at in range(sizes[0])]
    rows = torch.tensor([places.get(place, data.shape[0]) for place in order])
    whole = torch.cat([data, torch.full((1, *data.shape[1:]), padding, dtype=data.dtype)])
    shape = (sizes[0], steps) if batch_first else (steps, sizes[0])
    return whole.index_select(0, rows).reshape(*shape, *data.shape[1:]), torch.tensor(_lengths(sizes))


def _run(
    cell: Any, data: Any, batch_sizes: Any, first: Any, weights: Any, has_biases: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> Any:  # fmt: skip
    """Rows and last states of a recurrent layer, one batch for each length."""
    import torch

    sizes = batch_sizes.tolist()
    places, order, rows, states = _rows(sizes), [], [], []
    begun = list(first) if isinstance(first, list | tuple) else [first]
    for group in _groups(_lengths(sizes)):
        mine = [places[step, at] for step in range(group.steps) for at in range(group.first, group.end)]
        x = data.index_select(0, torch.tensor(mine)).reshape(group.steps, -1, *data.shape[1:])
        own = [state[:, group.first : group.end].contiguous() for state in begun]
        given = own if len(own) > 1 else own[0]
        y, *last = cell(x, given, weights, has_biases, layers, dropout, train, bidirectional, False)
        rows.append(y.flatten(0, 1))
        states.append(last)
        order += mine
    back = sorted(range(len(order)), key=order.__getitem__)
    found = torch.cat(rows).index_select(0, torch.tensor(back))
    return found, *(torch.cat(kind, 1) for kind in zip(*states, strict=True))
