"""Numbers as a human reads them."""

from __future__ import annotations


def count(value: int) -> str:
    """A number with three digits: 987, 12.3 k, 4.56 M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 1000 * size else f"{value // size} {unit}"
    return str(value)


_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def size(value: int) -> str:
    """Bytes as a human reads them."""
    unit, scale = _unit(value)
    return f"{value / scale:.1f} {unit}" if scale > 1 else f"{value} {unit}"


def exact_size(value: int) -> str:
    """The same with all digits, for the marks of an axis: one at 1.25 KiB is not at 1.2."""
    unit, scale = _unit(value)
    return f"{value / scale:.10g} {unit}"


def _unit(value: int) -> tuple[str, int]:
    return next((one for one in _UNITS if value >= one[1]), ("B", 1))


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
