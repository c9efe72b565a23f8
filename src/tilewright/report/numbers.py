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
    """As people write it: 378 us, 1.25 s, 4 min 10 s."""
    return _minutes(seconds) if seconds >= 99.5 else _below_minutes(seconds)


def milliseconds(value: float) -> str:
    """A measured or predicted time with four digits: 79.11 us, 36.63 ms, 14.65 s, 4 min 10 s."""
    if value < 1000:
        return f"{value * 1000:.4g} us" if value < 0.1 else f"{value:.4g} ms"
    return _minutes(value / 1000) if value >= 99_500 else f"{value / 1000:.4g} s"


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _below_minutes(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
