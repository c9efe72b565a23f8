"""Quantisation by ranges that are measured at run time, as PT2E's dynamic quantisers write it: the exporter lacks what
chooses scales, and takes scales for constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def decompositions() -> dict[Any, Callable[..., Any]]:
    """None where nobody has loaded these operations."""
    import torch

    ours = torch.ops.quantized_decomposed
    known: dict[tuple[str, str], Callable[..., Any]] = {
        ("choose_qparams", "tensor"): _range, ("choose_qparams_symmetric", "tensor"): _symmetric_range,
        ("quantize_per_tensor", "tensor"): _quantised, ("dequantize_per_tensor", "tensor"): _dequantised,
    }  # fmt: skip
    found = {(packet, name): getattr(ours, packet, None) for packet, name in known}
    return {getattr(found[key], key[1]): how for key, how in known.items() if found[key] is not None}


def is_lacking(node: Any) -> bool:
    """Whether it chooses a scale, or is by one that is no constant."""
    return len(node.args) < 2 or not hasattr(node.args[1], "op") or node.args[1].op == "call_function"


def _range(x: Any, least: int, most: int, smallest: float, dtype: Any) -> tuple[Any, Any]:
    """A scale and the integer that stands for zero; zero is in every range."""
    import torch

    low, high = x.min().clamp(max=0.0), x.max().clamp(min=0.0)
    scale = ((high - low) / float(most - least)).clamp(min=smallest)
    return scale, (least - torch.round(low / scale)).clamp(least, most).to(torch.int64)


def _symmetric_range(x: Any, least: int, most: int, smallest: float, dtype: Any) -> tuple[Any, Any]:
    import torch

    scale = (x.abs().max() / (float(most - least) / 2)).clamp(min=smallest)
    middle = (least + most + 1) // 2 if dtype is torch.uint8 else 0
    return scale, torch.full((), middle, dtype=torch.int64)


def _quantised(x: Any, scale: Any, zero: Any, least: int, most: int, dtype: Any) -> Any:
    import torch

    steps = torch.round(x * scale.to(x.dtype).reciprocal())
    return (steps + zero.to(x.dtype)).clamp(float(least), float(most)).to(dtype)


def _dequantised(x: Any, scale: Any, zero: Any, least: int, most: int, dtype: Any, *, out_dtype: Any = None) -> Any:
    import torch

    wide = out_dtype or torch.float32
    return (x.to(wide) - zero.to(wide)) * scale.to(wide)
