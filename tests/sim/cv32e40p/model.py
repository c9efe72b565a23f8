"""What the extension instructions compute, written down once more in plain Python."""

from __future__ import annotations

from collections.abc import Callable

MASK = 0xFFFFFFFF
Operation = Callable[[int, int, int], int]
"""From first operand, second operand and old destination to the result."""


def signed(value: int, width: int = 32) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def lanes(value: int, width: int) -> list[int]:
    return [value >> at & ((1 << width) - 1) for at in range(0, 32, width)]


def joined(values: list[int], width: int) -> int:
    return sum((value & ((1 << width) - 1)) << (i * width) for i, value in enumerate(values))


def spread(value: int, width: int) -> int:
    """Lane 0 in all lanes."""
    return joined([value] * (32 // width), width)


def per_lane(width: int, function: Callable[[int, int], int], is_signed: bool) -> Operation:
    def run(a: int, b: int, _: int) -> int:
        pairs = zip(lanes(a, width), lanes(b, width), strict=True)
        if is_signed:
            return joined([function(signed(x, width), signed(y, width)) for x, y in pairs], width)
        return joined([function(x, y) for x, y in pairs], width)

    return run


def dot(width: int, a_signed: bool, b_signed: bool, accumulates: bool) -> Operation:
    def run(a: int, b: int, old: int) -> int:
        total = old if accumulates else 0
        for x, y in zip(lanes(a, width), lanes(b, width), strict=True):
            total += (signed(x, width) if a_signed else x) * (signed(y, width) if b_signed else y)
        return total & MASK

    return run


def simd(width: int) -> dict[str, tuple[bool, Operation]]:
    """By name: is the immediate signed, and the operation."""
    signed_ops: dict[str, Callable[[int, int], int]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "avg": lambda x, y: signed(x + y, width) >> 1,
        "min": min,
        "max": max,
        "sra": lambda x, y: x >> (y % width),
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "and": lambda x, y: x & y,
        "cmpeq": lambda x, y: -(x == y),
        "cmpne": lambda x, y: -(x != y),
        "cmpgt": lambda x, y: -(x > y),
        "cmpge": lambda x, y: -(x >= y),
        "cmplt": lambda x, y: -(x < y),
        "cmple": lambda x, y: -(x <= y),
    }
    unsigned_ops: dict[str, Callable[[int, int], int]] = {
        "avgu": lambda x, y: ((x + y) & ((1 << width) - 1)) >> 1,
        "minu": min,
        "maxu": max,
        "srl": lambda x, y: x >> (y % width),
        "sll": lambda x, y: x << (y % width),
        "cmpgtu": lambda x, y: -(x > y),
        "cmpgeu": lambda x, y: -(x >= y),
        "cmpltu": lambda x, y: -(x < y),
        "cmpleu": lambda x, y: -(x <= y),
    }
    table = {name: (True, per_lane(width, f, True)) for name, f in signed_ops.items()}
    table |= {name: (False, per_lane(width, f, False)) for name, f in unsigned_ops.items()}
    for prefix in ("", "s"):
        table[f"{prefix}dotup"] = (False, dot(width, False, False, bool(prefix)))
        table[f"{prefix}dotusp"] = (True, dot(width, False, True, bool(prefix)))
        table[f"{prefix}dotsp"] = (True, dot(width, True, True, bool(prefix)))
    return table


def clipped(value: int, low: int, high: int) -> int:
    return max(low, min(signed(value), high)) & MASK


def leading(a: int) -> int:
    """Bits like the sign bit, the sign bit not counted; 0 for 0."""
    if a == 0:
        return 0
    text = f"{a:032b}"
    return len(text) - len(text.lstrip(text[0])) - 1


def shifted(total: int, n: int, is_signed: bool) -> int:
    total &= MASK
    return (signed(total) >> n if is_signed else total >> n) & MASK


def half(n: int) -> int:
    return 1 << (n - 1) if n else 0


SCALAR: dict[str, Operation] = {
    "mac": lambda a, b, d: (d + a * b) & MASK,
    "msu": lambda a, b, d: (d - a * b) & MASK,
    "min": lambda a, b, d: min(signed(a), signed(b)) & MASK,
    "minu": lambda a, b, d: min(a, b),
    "max": lambda a, b, d: max(signed(a), signed(b)) & MASK,
    "maxu": lambda a, b, d: max(a, b),
    "sle": lambda a, b, d: int(signed(a) <= signed(b)),
    "sleu": lambda a, b, d: int(a <= b),
    "ror": lambda a, b, d: (a >> (b & 31) | a << (32 - (b & 31))) & MASK,
    "ff1": lambda a, b, d: (a & -a).bit_length() - 1 if a else 32,
    "fl1": lambda a, b, d: a.bit_length() - 1 if a else 32,
    "clb": lambda a, b, d: leading(a),
    "cnt": lambda a, b, d: a.bit_count(),
    "abs": lambda a, b, d: abs(signed(a)) & MASK,
    "exths": lambda a, b, d: signed(a, 16) & MASK,
    "exthz": lambda a, b, d: a & 0xFFFF,
    "extbs": lambda a, b, d: signed(a, 8) & MASK,
    "extbz": lambda a, b, d: a & 0xFF,
    "addNr": lambda a, b, d: shifted(d + a, b & 31, True),
    "adduNr": lambda a, b, d: shifted(d + a, b & 31, False),
    "addRNr": lambda a, b, d: shifted(d + a + half(b & 31), b & 31, True),
    "adduRNr": lambda a, b, d: shifted(d + a + half(b & 31), b & 31, False),
    "subNr": lambda a, b, d: shifted(d - a, b & 31, True),
    "subuNr": lambda a, b, d: shifted(d - a, b & 31, False),
    "subRNr": lambda a, b, d: shifted(d - a + half(b & 31), b & 31, True),
    "subuRNr": lambda a, b, d: shifted(d - a + half(b & 31), b & 31, False),
}
ONE_OPERAND = {"ff1", "fl1", "clb", "cnt", "abs", "exths", "exthz", "extbs", "extbz"}


def extract(a: int, length: int, position: int, is_signed: bool) -> int:
    value = a >> position & ((1 << length) - 1)
    return (signed(value, length) if is_signed else value) & MASK


def insert(old: int, a: int, length: int, position: int) -> int:
    mask = ((1 << length) - 1) << position & MASK
    return (old & ~mask) | (a << position & mask)


def product(a: int, b: int, high: bool, is_signed: bool) -> int:
    x, y = (a >> 16, b >> 16) if high else (a & 0xFFFF, b & 0xFFFF)
    return signed(x, 16) * signed(y, 16) if is_signed else x * y
