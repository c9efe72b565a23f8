"""Every group of extension instructions against the plain Python model, in both encodings."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from tests.sim.assembling import BASE, COREV, FOREVER, assemble, assemble_each, elf_of, run_words
from tests.sim.cv32e40p.model import (
    MASK,
    ONE_OPERAND,
    SCALAR,
    Operation,
    clipped,
    extract,
    half,
    insert,
    joined,
    lanes,
    product,
    signed,
    simd,
    spread,
)
from tilewright.sim.simulator import Simulator

EDGES = [0, 1, 0x7F, 0x80, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80807F7F, 0x00FF00FF]
RNG = random.Random(1)
OPERANDS = [(a, RNG.choice(EDGES), RNG.getrandbits(32)) for a in EDGES]
OPERANDS += [(RNG.getrandbits(32), RNG.getrandbits(32), RNG.getrandbits(32)) for _ in range(12)]
WIDTHS = {"h": 16, "b": 8}
XPULP_SIMD = {
    **{"add": 0x00, "sub": 0x02, "avg": 0x04, "avgu": 0x06, "min": 0x08, "minu": 0x0A, "max": 0x0C, "maxu": 0x0E},
    **{"srl": 0x10, "sra": 0x12, "sll": 0x14, "or": 0x16, "xor": 0x18, "and": 0x1A},
    **{"cmpeq": 0x01, "cmpne": 0x03, "cmpgt": 0x05, "cmpge": 0x07, "cmplt": 0x09, "cmple": 0x0B},
    **{"cmpgtu": 0x0D, "cmpgeu": 0x0F, "cmpltu": 0x11, "cmpleu": 0x13},
    **{"dotup": 0x20, "dotusp": 0x22, "dotsp": 0x26, "sdotup": 0x28, "sdotusp": 0x2A, "sdotsp": 0x2E},
}
"""Bits 31:26."""
XPULP_SCALAR = {
    **{"mac": 0x42000033, "msu": 0x42001033, "min": 0x04004033, "minu": 0x04005033, "max": 0x04006033},
    **{"maxu": 0x04007033, "sle": 0x04002033, "sleu": 0x04003033, "ror": 0x08005033, "ff1": 0x10000033},
    **{"fl1": 0x10001033, "clb": 0x10002033, "cnt": 0x10003033, "exths": 0x10004033, "exthz": 0x10005033},
    **{"extbs": 0x10006033, "extbz": 0x10007033, "abs": 0x04000033},
    **{"addNr": 0x4000205B, "adduNr": 0xC000205B, "addRNr": 0x4000605B, "adduRNr": 0xC000605B},
    **{"subNr": 0x4000305B, "subuNr": 0xC000305B, "subRNr": 0x4000705B, "subuRNr": 0xC000705B},
}
DATA = 0x8001_0000
REGISTERS = 10 << 7 | 11 << 15 | 12 << 20  # a0, a1, a2


def check_code(code: bytes, platform: str, operation: Operation, tag: str) -> None:
    """The instruction on all operands, one after the other in the same simulator."""
    with Simulator(platform) as simulator:
        simulator.load(elf_of(code + FOREVER))
        for a, b, old in OPERANDS:
            for name, value in {"a0": old, "a1": a, "a2": b, "pc": BASE}.items():
                simulator.set_register(0, name, value)
            assert simulator.run_until(BASE + len(code), cycle=1_000_000)
            found, wanted = simulator.register(0, "a0"), operation(a, b, old)
            assert found == wanted, f"{tag}({a:#x}, {b:#x}, {old:#x}) = {found:#x}, not {wanted:#x}"


def check_corev(operations: Mapping[str, Operation]) -> None:
    codes = assemble_each(operations, COREV)
    for code, (instruction, operation) in zip(codes, operations.items(), strict=True):
        check_code(code, "corev", operation, instruction)


def check_word(word: int, operation: Operation, tag: str) -> None:
    check_code(word.to_bytes(4, "little"), "rv32", operation, tag)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("suffix", WIDTHS)
@pytest.mark.parametrize("name", simd(8))
def test_simd_corev(name: str, suffix: str) -> None:
    width = WIDTHS[suffix]
    is_signed, operation = simd(width)[name]
    immediate = -3 if is_signed and name != "sra" else 5
    check_corev(
        {
            f"cv.{name}.{suffix} a0, a1, a2": operation,
            f"cv.{name}.sc.{suffix} a0, a1, a2": lambda a, b, d: operation(a, spread(b, width), d),
            f"cv.{name}.sci.{suffix} a0, a1, {immediate}": lambda a, b, d: operation(a, spread(immediate, width), d),
        }
    )


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("suffix", WIDTHS)
@pytest.mark.parametrize("name", simd(8))
def test_simd_xpulp(name: str, suffix: str) -> None:
    width, byte = WIDTHS[suffix], suffix == "b"
    is_signed, operation = simd(width)[name]
    base = XPULP_SIMD[name] << 26 | 0x57 | byte << 12
    immediate = -3 if is_signed else 5
    field = (immediate >> 1 & 31) << 20 | (immediate & 1) << 25 | 10 << 7 | 11 << 15 | 6 << 12
    check_word(base | REGISTERS, operation, f"pv.{name}.{suffix}")
    check_word(base | REGISTERS | 4 << 12, lambda a, b, d: operation(a, spread(b, width), d), f"pv.{name}.sc.{suffix}")
    check_word(base | field, lambda a, b, d: operation(a, spread(immediate, width), d), f"pv.{name}.sci.{suffix}")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", SCALAR)
def test_scalar(name: str) -> None:
    one = name in ONE_OPERAND
    check_corev({f"cv.{name} a0, a1" + ("" if one else ", a2"): SCALAR[name]})
    registers = 10 << 7 | 11 << 15 if one else REGISTERS
    check_word(XPULP_SCALAR[name] | registers, SCALAR[name], f"p.{name}")


@pytest.mark.parametrize("bits", [0, 1, 8, 16, 31])
def test_clip(bits: int) -> None:
    bound = 1 << (bits - 1) if bits else 1
    field = 10 << 7 | 11 << 15 | bits << 20
    check_corev(
        {
            f"cv.clip a0, a1, {bits}": lambda a, b, d: clipped(a, -bound, bound - 1),
            f"cv.clipu a0, a1, {bits}": lambda a, b, d: clipped(a, 0, bound - 1),
            "cv.clipr a0, a1, a2": lambda a, b, d: clipped(a, -(b & 0x7FFFFFFF) - 1, b & 0x7FFFFFFF),
        }
    )
    check_word(0x14001033 | field, lambda a, b, d: clipped(a, -bound, bound - 1), "p.clip")
    check_word(0x14002033 | field, lambda a, b, d: clipped(a, 0, bound - 1), "p.clipu")


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("length", "position"), [(1, 0), (8, 4), (16, 16), (32, 0), (5, 27)])
def test_bit_fields(length: int, position: int) -> None:
    where = f"{length - 1}, {position}"
    mask = ((1 << length) - 1) << position & MASK
    cases: dict[str, tuple[int, Operation]] = {
        "extract": (0xC0000033, lambda a, b, d: extract(a, length, position, True)),
        "extractu": (0xC0001033, lambda a, b, d: extract(a, length, position, False)),
        "insert": (0xC0002033, lambda a, b, d: insert(d, a, length, position)),
        "bclr": (0xC0003033, lambda a, b, d: a & ~mask),
        "bset": (0xC0004033, lambda a, b, d: a | mask),
    }
    check_corev({f"cv.{name} a0, a1, {where}": operation for name, (_, operation) in cases.items()})
    for name, (word, operation) in cases.items():
        check_word(word | 10 << 7 | 11 << 15 | (length - 1) << 25 | position << 20, operation, f"p.{name}i")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("shift", [0, 1, 15, 31])
def test_short_products(high: bool, is_signed: bool, shift: int) -> None:
    kind = ("hh" if high else "") + ("s" if is_signed else "u")

    def wrapped(total: int) -> int:
        return signed(total) if is_signed else total & MASK

    def total(start: int, a: int, b: int) -> int:
        return wrapped(start + product(a, b, high, is_signed))

    def rounded(value: int, rounds: bool, wraps: bool) -> int:
        """CORE-V wraps the rounded sum, XpulpV2 does not."""
        value += rounds * half(shift)
        return ((wrapped(value) if wraps else value) >> shift) & MASK

    def mul(rounds: bool, wraps: bool) -> Operation:
        return lambda a, b, d: rounded(total(0, a, b), rounds, wraps)

    def mac(rounds: bool, wraps: bool) -> Operation:
        return lambda a, b, d: rounded(total(d, a, b), rounds, wraps)

    corev = dict[str, Operation]()
    for rounds, suffix in ((False, "N"), (True, "RN")):
        corev[f"cv.mul{kind}{suffix} a0, a1, a2, {shift}"] = mul(rounds, True)
        corev[f"cv.mac{kind}{suffix} a0, a1, a2, {shift}"] = mac(rounds, True)
        base = (0x80000000 if is_signed else 0) | (0x40000000 if high else 0) | 0x5B | shift << 25 | REGISTERS
        check_word(base | (4 << 12 if rounds else 0), mul(rounds, False), f"p.mul{kind}{suffix}")
        check_word(base | (5 << 12 if rounds else 1 << 12), mac(rounds, False), f"p.mac{kind}{suffix}")
    check_corev(corev)


def test_shuffles_and_packs() -> None:
    def shuffle(a: int, b: int, old: int, width: int, two: bool) -> int:
        count = 32 // width
        sources = [lanes(a, width), lanes(old, width)]
        return joined([sources[0 if not two or s & count else 1][s % count] for s in lanes(b, width)], width)

    cases: dict[str, Operation] = {
        "cv.pack a0, a1, a2": lambda a, b, d: (a << 16 | b & 0xFFFF) & MASK,
        "cv.pack.h a0, a1, a2": lambda a, b, d: a & 0xFFFF0000 | b >> 16,
        "cv.packhi.b a0, a1, a2": lambda a, b, d: (a & 255) << 24 | (b & 255) << 16 | d & 0xFFFF,
        "cv.packlo.b a0, a1, a2": lambda a, b, d: d & 0xFFFF0000 | (a & 255) << 8 | b & 255,
    }
    for suffix, width in WIDTHS.items():
        cases[f"cv.shuffle.{suffix} a0, a1, a2"] = lambda a, b, d, w=width: shuffle(a, b, d, w, False)  # type: ignore[misc]
        cases[f"cv.shuffle2.{suffix} a0, a1, a2"] = lambda a, b, d, w=width: shuffle(a, b, d, w, True)  # type: ignore[misc]
    check_corev(cases)


def xpulp_setup(loop: int, count: int, offset: int) -> int:
    return offset // 2 << 20 | count << 15 | 4 << 12 | loop << 7 | 0x7B


def corev_setup(loop: int, count: int, offset: int) -> int:
    return offset // 4 << 20 | count << 15 | 4 << 12 | 7 << 8 | loop << 7 | 0x2B


def addi(register: int, value: int) -> int:
    return (value & 0xFFF) << 20 | register << 15 | register << 7 | 0x13


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("platform", ["rv32", "corev"])
def test_nested_hardware_loops(platform: str, count: int) -> None:
    """Outer loop 5 times around an inner one of three instructions; the ends are one apart in the two encodings."""
    setup, end = (xpulp_setup, -4) if platform == "rv32" else (corev_setup, 0)
    words = [
        setup(1, 12, 28 + end),
        setup(0, 11, 16 + end),
        addi(10, 1),
        addi(10, 16),
        addi(10, 256),
        addi(13, 1),
        addi(13, 2),
    ]
    simulator = run_words(words, {"a0": 0, "a1": count, "a2": 5, "a3": 0}, platform)
    assert simulator.register(0, "a0") == 5 * count * 273
    assert simulator.register(0, "a3") == 15
    assert simulator.report().cores[0].instructions == 1 + 5 * (1 + 3 * count + 2)


def test_post_increment_and_register_offsets() -> None:
    code = assemble(
        "cv.lw t0, (a1), 4\n cv.lbu t1, (a1), a2\n cv.lh t2, a2(a1)\n"
        "cv.sw t0, (a3), 4\n cv.sb t1, (a3), a2\n cv.sh t2, a2(a3)",
        COREV,
    )
    data = bytes(range(1, 65))
    simulator = run_data(code, data, {"a2": 5})
    assert simulator.register(0, "t0") == 0x04030201
    assert simulator.register(0, "t1") == 5
    assert simulator.register(0, "t2") == signed(data[14] | data[15] << 8, 16) & MASK
    assert simulator.register(0, "a1") == DATA + 9
    stored = simulator.read(DATA + 64, 16)
    assert stored[:5] == bytes([1, 2, 3, 4, 5])
    assert stored[14:16] == data[14:16]


def run_data(code: bytes, data: bytes, registers: dict[str, int]) -> Simulator:
    simulator = Simulator("corev")
    simulator.load(elf_of(code + FOREVER))
    simulator.write(DATA, data + bytes(64))
    for name, value in ({"a1": DATA, "a3": DATA + 64} | registers).items():
        simulator.set_register(0, name, value)
    assert simulator.run_until(BASE + len(code), cycle=1000)
    return simulator
