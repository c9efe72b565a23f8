"""Floating point of Snitch cores: doubles and singles in all rounding modes, boxes, conversions, packed lanes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.sim.snitch.exact_floats import DOUBLE, HALF, SINGLE, root
from tests.sim.snitch.programs import DATA, run

NAN = 0x7FF8_0000_0000_0000
COUNT = 40
Exact = Callable[[Fraction, Fraction, Fraction, int], tuple[int, int]]


def doubles(seed: int) -> list[int]:
    """Random bits, near each other, subnormal, huge, and plain ones; all finite and not zero."""
    chosen = random.Random(seed)
    found = []
    for i in range(COUNT):
        field = [chosen.randrange(1, 2047), chosen.randrange(1000, 1046), chosen.randrange(0, 3), 2046, 1023][i % 5]
        fraction = chosen.getrandbits(52) if i % 2 else chosen.getrandbits(8) << 44
        found.append(chosen.getrandbits(1) << 63 | field << 52 | fraction | (field == 0))
    return found


OPERATIONS: dict[str, Exact] = {
    "fmadd.d fa3, fa0, fa1, fa2": lambda a, b, c, m: DOUBLE.rounded(a * b + c, m, m == 2),
    "fnmsub.d fa3, fa0, fa1, fa2": lambda a, b, c, m: DOUBLE.rounded(c - a * b, m, m == 2),
    "fadd.d fa3, fa0, fa1": lambda a, b, c, m: DOUBLE.rounded(a + b, m, m == 2),
    "fsub.d fa3, fa0, fa1": lambda a, b, c, m: DOUBLE.rounded(a - b, m, m == 2),
    "fmul.d fa3, fa0, fa1": lambda a, b, c, m: DOUBLE.rounded(a * b, m),
    "fdiv.d fa3, fa0, fa1": lambda a, b, c, m: DOUBLE.rounded(a / b, m),
    "fabs.d fa4, fa0\n fsqrt.d fa3, fa4": lambda a, b, c, m: root(DOUBLE, abs(a), m),
    "fcvt.s.d fa3, fa0": lambda a, b, c, m: (
        SINGLE.rounded(a, m)[0] | 0xFFFF_FFFF << 32,
        SINGLE.rounded(a, m)[1],
    ),
}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("instruction", OPERATIONS)
def test_doubles_in_all_rounding_modes(instruction: str) -> None:
    """Results and flags of one loop over all operands and modes."""
    triples = list(zip(doubles(1), doubles(2), doubles(3), strict=True))
    body = f"""
        li   s0, {DATA}
        li   s1, {DATA + 0x8000}
        li   s3, 0
    2:  csrw frm, s3
        li   s2, {COUNT}
    3:  fld  fa0, 0(s0)
        fld  fa1, 8(s0)
        fld  fa2, 16(s0)
        csrw fflags, zero
        {instruction}
        csrr t0, fflags
        fsd  fa3, 0(s1)
        sw   t0, 8(s1)
        addi s0, s0, 24
        addi s1, s1, 16
        addi s2, s2, -1
        bnez s2, 3b
        li   s0, {DATA}
        addi s3, s3, 1
        li   t0, 5
        bne  s3, t0, 2b
        settle
    """
    operands = struct.pack(f"<{3 * COUNT}Q", *(value for triple in triples for value in triple))
    found = run(body, data={DATA: operands}).read(DATA + 0x8000, 16 * 5 * COUNT)
    for mode in range(5):
        for i, triple in enumerate(triples):
            a, b, c = (DOUBLE.value(bits) for bits in triple)
            wanted = OPERATIONS[instruction](a, b, c, mode)
            assert struct.unpack_from("<QI", found, 16 * (mode * COUNT + i)) == wanted, (mode, [hex(x) for x in triple])


def singles(seed: int) -> list[int]:
    """Subnormal, near the ends of the range, near each other, and plain ones; zeros as the first operand only."""
    chosen = random.Random(seed)
    found = []
    for i in range(COUNT):
        field = [chosen.randrange(60, 190), chosen.randrange(120, 130), chosen.randrange(0, 3), 253, 127][i % 5]
        fraction = chosen.getrandbits(23) if i % 2 else chosen.getrandbits(3) << 20
        found.append(chosen.getrandbits(1) << 31 | field << 23 | fraction | (field == 0))
    return found


def single_triples() -> list[tuple[int, int, int]]:
    firsts = [a if i % 8 else a & 1 << 31 for i, a in enumerate(singles(1))]
    triples = list(zip(firsts, singles(2), singles(3), strict=True))
    exact = [(a, 0x3F80_0000, a ^ 1 << 31) for a, _, _ in triples[1:4]]  # sums that are zero
    return triples + exact


def fused_singles(triple: tuple[int, int, int], mode: int) -> tuple[int, int]:
    a, b, c = (SINGLE.value(bits) for bits in triple)
    return SINGLE.rounded(a * b + c, mode, mode == 2)


def added_singles(triple: tuple[int, int, int], mode: int) -> tuple[int, int]:
    a, _, c = (SINGLE.value(bits) for bits in triple)
    return SINGLE.rounded(a + c, mode, mode == 2)


def multiplied_singles(triple: tuple[int, int, int], mode: int) -> tuple[int, int]:
    a, b, _ = (SINGLE.value(bits) for bits in triple)
    return SINGLE.rounded(a * b, mode, bool((triple[0] ^ triple[1]) >> 31))


SINGLES = {
    "fmadd.s fa3, fa0, fa1, fa2": fused_singles,
    "fadd.s fa3, fa0, fa2": added_singles,
    "fmul.s fa3, fa0, fa1": multiplied_singles,
}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("instruction", SINGLES)
@pytest.mark.parametrize("before", [0, 1])
def test_singles_whether_or_not_inexact_is_up(instruction: str, before: int) -> None:
    """The host computes most of them, and is asked for more while the flag is down."""
    triples = single_triples()
    words = struct.pack(f"<{3 * len(triples)}I", *(value for triple in triples for value in triple))
    found = run(SINGLES_LOOP.format(instruction=instruction, before=before, count=len(triples)), data={DATA: words})
    results = found.read(DATA + 0x8000, 8 * 5 * len(triples))
    for mode in range(5):
        for i, triple in enumerate(triples):
            bits, flags = SINGLES[instruction](triple, mode)
            at = 8 * (mode * len(triples) + i)
            assert struct.unpack_from("<II", results, at) == (bits, flags | before), (mode, [hex(x) for x in triple])


SINGLES_LOOP = f"""
        li   s1, {DATA + 0x8000}
        li   s3, 0
    2:  csrw frm, s3
        li   s0, {DATA}
        li   s2, {{count}}
    3:  flw  fa0, 0(s0)
        flw  fa1, 4(s0)
        flw  fa2, 8(s0)
        csrwi fflags, {{before}}
        {{instruction}}
        csrr t0, fflags
        fsw  fa3, 0(s1)
        sw   t0, 4(s1)
        addi s0, s0, 12
        addi s1, s1, 8
        addi s2, s2, -1
        bnez s2, 3b
        addi s3, s3, 1
        li   t0, 5
        bne  s3, t0, 2b
        settle
"""


@pytest.mark.parametrize("before", [0, 1])
def test_pairs_of_fused_singles(before: int) -> None:
    """vfmac.s: each lane as by itself, flags of both."""
    triples = single_triples()
    pairs = list(zip(triples[::2], triples[1::2], strict=False))
    words = [lane for first, second in pairs for operand in zip(first, second, strict=True) for lane in operand]
    body = f"""
        li   s0, {DATA}
        li   s1, {DATA + 0x8000}
        li   s2, {len(pairs)}
    3:  fld  fa0, 0(s0)
        fld  fa1, 8(s0)
        fld  fa3, 16(s0)
        csrwi fflags, {before}
        .insn r 0x33, 0, 0x48, fa3, fa0, fa1
        csrr t0, fflags
        fsd  fa3, 0(s1)
        sw   t0, 8(s1)
        addi s0, s0, 24
        addi s1, s1, 16
        addi s2, s2, -1
        bnez s2, 3b
        settle
    """
    found = run(body, data={DATA: struct.pack(f"<{len(words)}I", *words)}).read(DATA + 0x8000, 16 * len(pairs))
    for i, pair in enumerate(pairs):
        (low, low_flags), (high, high_flags) = (fused_singles(triple, 0) for triple in pair)
        assert struct.unpack_from("<III", found, 16 * i) == (low, high, before | low_flags | high_flags), pair


def test_special_numbers() -> None:
    simulator = run(f"""
        fcvt.d.w fa0, zero
        li   t0, 1
        fcvt.d.w fa1, t0
        fdiv.d fa2, fa1, fa0        # infinity
        fdiv.d fa3, fa0, fa0        # no number
        fadd.d fa4, fa2, fa1
        fsub.d fa5, fa2, fa2
        fmin.d fa6, fa3, fa1
        fclass.d s0, fa2
        feq.d s1, fa3, fa3
        flt.d s2, fa0, fa1
        csrr s3, fflags
        li   s4, {DATA}
        fsd  fa4, 0(s4)
        fsd  fa5, 8(s4)
        fsd  fa6, 16(s4)
        settle
    """)
    assert [simulator.register(0, f"s{i}") for i in range(4)] == [1 << 7, 0, 1, 16 | 8]
    assert struct.unpack("<3Q", simulator.read(DATA, 24)) == (0x7FF << 52, NAN, 0x3FF << 52)


def test_singles_are_boxed() -> None:
    """A register that holds a double reads as NaN, loads and results have ones above."""
    simulator = run(
        f"""
        li   s0, {DATA}
        fld  fa0, 0(s0)
        flw  fa1, 0(s0)
        fadd.s fa2, fa0, fa1
        fadd.s fa3, fa1, fa1
        fmv.x.w s1, fa0
        fmv.x.w s2, fa2
        settle
        """,
        data={DATA: struct.pack("<fI", 1.5, 7)},
    )
    assert simulator.register(0, "f13") == 0xFFFF_FFFF_0000_0000 | struct.unpack("<I", struct.pack("<f", 3.0))[0]
    assert simulator.register(0, "s1") == struct.unpack("<I", struct.pack("<f", 1.5))[0]
    assert simulator.register(0, "s2") == 0x7FC0_0000


def test_conversions() -> None:
    simulator = run(
        f"""
        li   s0, {DATA}
        fld  fa0, 0(s0)
        fcvt.w.d s1, fa0, rtz
        fcvt.w.d s2, fa0, rdn
        fcvt.wu.d s3, fa0, rtz
        fcvt.s.d fa1, fa0
        fcvt.d.s fa2, fa1
        li   t0, -7
        fcvt.d.wu fa3, t0
        settle
        """,
        data={DATA: struct.pack("<d", -2.5)},
    )
    assert [simulator.register(0, f"s{i}") for i in (1, 2, 3)] == [0xFFFF_FFFE, 0xFFFF_FFFD, 0]
    assert simulator.register(0, "f12") == struct.unpack("<Q", struct.pack("<d", -2.5))[0]
    assert simulator.register(0, "f13") == struct.unpack("<Q", struct.pack("<d", 2.0**32 - 7))[0]


def packed(funct7: int, funct3: int, a: bytes, b: bytes, c: bytes, rs2: str = "fa1") -> tuple[bytes, int]:
    """The result in fa2, and in s1."""
    simulator = run(
        f"""
        li   s0, {DATA}
        fld  fa0, 0(s0)
        fld  fa1, 8(s0)
        fld  fa2, 16(s0)
        .insn r 0x33, {funct3}, {funct7}, {"x9" if funct7 & 0x70 == 0x50 and funct7 < 0x58 else "fa2"}, fa0, {rs2}
        settle
        """,
        data={DATA: a + b + c},
    )
    return simulator.register(0, "f12").to_bytes(8, "little"), simulator.register(0, "s1")


def test_packed_lanes() -> None:
    a, b, c = struct.pack("<2f", 1.5, -2), struct.pack("<2f", 3, 0.5), struct.pack("<2f", 10, 20)
    assert packed(0x48, 0, a, b, c)[0] == struct.pack("<2f", 14.5, 19)  # vfmac.s
    assert packed(0x48, 4, a, b, c)[0] == struct.pack("<2f", 14.5, 14)  # vfmac.r.s
    assert packed(0x52, 0, a, b, c)[1] == 0b11  # vflt.s
    assert packed(0x58, 0, a, b, c)[0] == struct.pack("<2f", 1.5, 3)  # vfcpka.s.s
    a, b, c = struct.pack("<4e", 1, 2, -3, 0.25), struct.pack("<4e", 2, 0.5, 1, 4), struct.pack("<2f", 1, 10)
    assert packed(0x42, 2, a, b, c)[0] == struct.pack("<4e", -1, 1.5, -4, -3.75)  # vfsub.h
    assert packed(0x46, 6, a, b, c)[0] == struct.pack("<4e", 2, 2, 2, 2)  # vfmax.r.h
    assert packed(0x47, 0, a, b, c, "f22")[0] == struct.pack("<2f", 4, 7.25)  # vfsumex.s.h
    assert packed(0x4B, 2, a, b, c)[0] == struct.pack("<2f", 4, 8)  # vfdotpex.s.h


def test_bytes_are_five_bits_of_exponent_and_two_of_mantissa() -> None:
    one, two, three = 0x3C, 0x40, 0x42
    assert packed(0x41, 3, bytes([one] * 8), bytes([two] * 8), bytes(8))[0] == bytes([three] * 8)  # vfadd.b


def test_half_rounds_to_nearest() -> None:
    a, b = HALF.rounded(Fraction(1), 0)[0], HALF.rounded(Fraction(1, 2048) * 3, 0)[0]
    wanted = HALF.rounded(1 + Fraction(3, 2048), 0)[0]
    found = packed(0x41, 2, struct.pack("<4H", *[a] * 4), struct.pack("<4H", *[b] * 4), bytes(8))[0]
    assert struct.unpack("<4H", found) == (wanted,) * 4
