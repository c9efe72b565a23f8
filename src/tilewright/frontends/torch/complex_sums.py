"""Sums of products and moves of complex numbers, written with those of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any


def is_complex(node: Any) -> bool:
    """Whether an einsum reads such numbers, all of them or none; the exporter has the others."""
    return bool(node.args[1][0].meta["val"].is_complex())


def summed(equation: str, operands: Sequence[Any], *, path: Any = None) -> Any:
    """Each operand gives its real or its imaginary part; the square of the imaginary unit is -1."""
    import torch

    if not operands[0].is_complex():
        return NotImplemented
    totals: list[Any] = [0.0, 0.0]
    for chosen in product(*map(_parts, operands)):
        imaginary = sum(power for power, _ in chosen)
        found = torch.einsum(equation, *(part for _, part in chosen))
        sign = -1.0 if imaginary % 4 >= 2 else 1.0
        totals[imaginary % 2] = totals[imaginary % 2] + sign * found
    return torch.complex(*totals)


def _parts(x: Any) -> list[tuple[int, Any]]:
    """How often the imaginary unit is a factor, and what it is a factor of."""
    import torch

    both = torch.view_as_real(x)
    return [(0, both.select(-1, 0)), (1, both.select(-1, 1))]


def moves() -> dict[Any, Callable[..., Any]]:
    """What gives each part of a complex number a place of its own, where the exporter has only real ones."""
    import torch

    aten = torch.ops.aten
    known = (
        aten.select.int, aten.unsqueeze.default, aten.expand.default, aten.repeat.default, aten.squeeze.default,
        aten.squeeze.dims, aten.index_select.default, aten.diagonal.default, aten.tril.default, aten.triu.default,
    )  # fmt: skip
    found = {operation: _of_both_parts(operation) for operation in known}
    return {**found, aten.constant_pad_nd.default: _padded, aten.cumsum.default: _summed_up}


def is_moved(node: Any) -> bool:
    """Whether one of these is of complex numbers; the exporter has the others."""
    return bool(node.args[0].meta["val"].is_complex())


def _of_both_parts(operation: Any) -> Callable[..., Any]:
    import torch

    def moved(x: Any, *places: Any, **options: Any) -> Any:
        if not x.is_complex():
            return NotImplemented
        return torch.complex(*(operation(part, *places, **options).contiguous() for _, part in _parts(x)))

    return moved


def _padded(x: Any, sides: Sequence[int], value: complex = 0) -> Any:
    """Each part with its own part of the value."""
    import torch

    if not x.is_complex():
        return NotImplemented
    values, pad = (complex(value).real, complex(value).imag), torch.ops.aten.constant_pad_nd.default
    return torch.complex(
        *(pad(part, sides, own).contiguous() for (_, part), own in zip(_parts(x), values, strict=True))
    )


def _summed_up(x: Any, axis: int, dtype: Any = None) -> Any:
    import torch

    if not x.is_complex() or (dtype is not None and not dtype.is_complex):
        return NotImplemented
    kind = None if dtype is None else dtype.to_real()
    return torch.complex(*(part.cumsum(axis, dtype=kind) for _, part in _parts(x)))


def is_of_complex_zeros(node: Any) -> bool:
    return bool(node.meta["val"].is_complex())


def zeros(size: Sequence[int], *, dtype: Any = None, **options: Any) -> Any:
    """ONNX has no constants that are complex."""
    import torch

    if dtype is None or not dtype.is_complex:
        return NotImplemented
    parts = torch.zeros(size, dtype=dtype.to_real(), device=options.get("device"))
    return torch.complex(parts, parts)


def copied(x: Any, source: Any, non_blocking: bool = False) -> Any:
    """What a slice becomes that complex numbers are written to."""
    return source if x.is_complex() and source.is_complex() and source.shape == x.shape else NotImplemented
