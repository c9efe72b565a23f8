"""Bodies of frep with streams, on eight cores at once: a run in one go, with plans of many cycles, is the same as one
that is stopped after every cycle or so."""

from __future__ import annotations

import random

import pytest

from tests.sim.assembling import assemble, elf_of
from tests.sim.snitch.programs import FEATURES, MACROS, TCDM
from tilewright.sim.program.elf import Elf
from tilewright.sim.simulator import Simulator

CORES, ROUNDS, REGISTERS = 8, 6, 65
BYTES = 0x1_0000
LIMIT = 4_000
REPEAT, BOUND, STRIDE, START = 1, 2, 6, 24
SUMS = [f"fs{i}" for i in range(12)]


def _configured(chosen: random.Random, mover: int, reads: int) -> list[str]:
    """A stream that has an element for each of so many reads, and now and then some that nobody reads."""
    repeat = chosen.choice([n for n in (0, 0, 0, 1, 3, 7) if reads % (n + 1) == 0])
    elements = reads // (repeat + 1) + chosen.choice([0, 0, 0, 1, 3, 9])
    inner = chosen.choice([n for n in (elements, elements, 4, 5) if elements % n == 0])
    strides = chosen.choice([8, 8, 8, 0, 16, 256]), chosen.choice([8, 64, 0])
    values = {
        REPEAT: repeat,
        BOUND: inner - 1,
        BOUND + 1: elements // inner - 1,
        STRIDE: strides[0],
        STRIDE + 1: strides[1],
    }
    lines = [f"stream_set {register}, {mover}, {value}" for register, value in values.items()]
    start = TCDM + 8 * chosen.randrange(BYTES // 16)
    return [*lines, f"li t6, {start}", "add t6, t6, s1", f".insn i 0x2b, 2, x0, t6, ({START + 1} << 5) | {mover}"]


def _body(chosen: random.Random) -> list[tuple[str, str, str]]:
    """Sums, each its own, of products of streams and registers; a few depend on each other."""
    sums = chosen.sample(SUMS, chosen.choice([1, 2, 4, 6, 8, 8, 8, 12]))
    pattern = chosen.choice([("ft0", "ft1"), ("ft0", "ft1"), ("ft1", "fa1"), ("ft2", "ft1")])
    return [(name, *(pattern if chosen.random() < 0.9 else ("fa1", pattern[1]))) for name in sums]


def _beside(chosen: random.Random) -> list[str]:
    """What the integer core does while the unit repeats a body."""
    at = 8 * chosen.randrange(200)
    some = [
        f"lw a2, {at}(s0)",
        f"sw a3, {at}(s0)",
        "mul a4, a5, a6",
        "addi a3, a3, 1",
        f"fsd fa2, {at}(s0)",
        f"fld fa3, {at}(s0)",
    ]
    return [chosen.choice(some) for _ in range(chosen.choice([0, 0, 3, 12, 40]))]


def _round(chosen: random.Random) -> list[str]:
    body, repeats = _body(chosen), chosen.choice([0, 1, 5, 20, 60])
    reads = [(1 + repeats) * sum(part.count(f"ft{mover}") for part in body) for mover in range(3)]
    lines = [line for mover in range(3) if reads[mover] for line in _configured(chosen, mover, reads[mover])]
    lines += [
        f"li t1, {repeats}",
        "csrsi 0x7c0, 1",
        *chosen.choice([[], [f"fadd.d {body[0][0]}, fa2, fa2"], ["nop"] * 4]),
    ]
    lines.append(f".insn i 0x0b, 0, x1, t1, {len(body) - 1}")
    lines += [f".insn r 0x33, 0, 0x48, {', '.join(part)}" for part in body]
    return [*lines, *_beside(chosen), "settle", "csrci 0x7c0, 1"]


def _program(seed: int) -> Elf:
    chosen = random.Random(seed)
    lines = _begin()
    for core in range(CORES):
        rounds = [line for _ in range(ROUNDS) for line in _round(chosen)]
        lines += [f"li t1, {core}", f"bne t0, t1, 1{core}f", *rounds, f"1{core}:"]
    return _elf(lines)


def _program_of_all(seed: int) -> Elf:
    """All cores do the same in the same cycles, mostly, from addresses at even distances."""
    chosen = random.Random(seed)
    lines = [*_begin(), f"li t1, {chosen.choice([0, 8, 8, 8, 16, 64, 1032])}", "mul s1, t0, t1"]
    for _ in range(ROUNDS):
        lines += _round(chosen)
    return _elf(lines)


def _begin() -> list[str]:
    lines = ["csrr t0, mhartid", "li s1, 0", f"li s0, {TCDM + BYTES}", "fcvt.d.w fa1, zero", "fcvt.d.w fa2, zero"]
    return lines + [f"fcvt.d.w {name}, zero" for name in SUMS]


def _elf(lines: list[str]) -> Elf:
    return elf_of(assemble(MACROS + "\n".join([*lines, "9: j 9b"]), FEATURES))


def _loaded(seed: int, **checks: bool) -> Simulator:
    simulator = Simulator("snitch")
    simulator.check(**checks)
    simulator.load(_program_of_all(seed) if seed % 2 else _program(seed))
    data = random.Random(seed)
    words = [0x3F00_0000 | data.getrandbits(24) for _ in range(BYTES // 2)]
    simulator.write(TCDM, b"".join(word.to_bytes(4, "little") for word in words))
    return simulator


def _state(simulator: Simulator) -> tuple[object, ...]:
    registers = [[simulator.register(core, number) for number in range(REGISTERS)] for core in range(CORES)]
    return simulator.report(), simulator.activity(), registers, simulator.read(TCDM, 2 * BYTES)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(14))
def test_a_run_in_one_go_is_the_same_as_one_in_steps(seed: int) -> None:
    with _loaded(seed) as whole, _loaded(seed) as steps:
        chosen = random.Random(seed)
        for stop in [*sorted(chosen.sample(range(LIMIT // 2), 5)), LIMIT]:
            while steps.cycle < stop - 60:
                steps.run_until(cycle=steps.cycle + chosen.choice([1, 1, 2, 7]))
            for simulator in (steps, whole):
                simulator.run_until(cycle=stop)
            assert _state(whole) == _state(steps)


@pytest.mark.parametrize("seed", [100, 103])
def test_a_run_is_the_same_while_the_sanitizer_looks(seed: int) -> None:
    with _loaded(seed) as plain, _loaded(seed, misuse=True, unwritten=True, transfers=True) as checked:
        for simulator in (plain, checked):
            simulator.run_until(cycle=LIMIT)
        assert _state(plain) == _state(checked)
