"""Numbers as a human reads them."""

from __future__ import annotations


def count(value: int) -> str:
    """A number with three digits: 987, 12.3 k, 4.56 M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value // size} {unit}"
    return str(value)


def size(value: int) -> str:
    """Bytes as a human reads them."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
