"""The virtual Snitch cluster: scoreboard, floating-point unit, frep, streams, DMA, barrier, wake-up, host."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from tests.sim.assembling import BASE, elf_of
from tests.sim.snitch.programs import DATA, DMA_HART, PERIPHERALS, TCDM, ZEROS, cycles, loaded, program, run
from tilewright.errors import CompileError
from tilewright.sim.gdb import Server, target_description
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.sim.program.elf import parse_elf
from tilewright.sim.simulator import Simulator

FREP_O, FREP_I = "x1", "x0"
LOAD, USE = f"li s0, {TCDM}", f"li s0, {DATA}"


def frep(kind: str, body: int, repeats: str, stagger: int = 0) -> str:
    return f".insn i 0x0b, {stagger}, {kind}, {repeats}, {body - 1}\n"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("before", "body", "wanted"),
    [
        ("", "", 1),
        ("", "mul t0, t1, t1\n mul t2, t1, t1", 1 + 2 * 5),
        ("li t1, 100\n li t2, 7", "div t0, t1, t2", 1 + 29 + 3),
        ("", "j 3f\n 3:", 1 + 2),
        (LOAD, "lw t0, 0(s0)\n lw t1, 8(s0)", 1 + 2),
        (LOAD, "lw t0, 0(s0)\n addi t0, t0, 1", 1 + 4),
        (LOAD, "lw t0, 0(s0)\n li t0, 1\n addi t0, t0, 1", 1 + 3),
        (USE, "lw t0, 0(s0)\n addi t0, t0, 1", 1 + 11),
        (LOAD, "amoadd.w t0, t1, (s0)\n addi t0, t0, 1", 1 + 2),
        (USE, "amoadd.w t0, t1, (s0)", 1 + 9),
    ],
)
def test_the_scoreboard(before: str, body: str, wanted: int) -> None:
    assert cycles(body, before) == wanted


@pytest.mark.parametrize(("in_flight", "wanted"), [(0, 4), (4, 4), (2, 12), (1, 31)])
def test_loads_in_flight_may_be_limited(in_flight: int, wanted: int) -> None:
    group = replace(SNITCH.groups[0], loads_in_flight=in_flight)
    code, end = program(f"li s0, {DATA}\n .balign 32\n csrr s1, mcycle\n" + "lw t0, 0(s0)\n" * 4 + "csrr s2, mcycle")
    with Simulator(replace(SNITCH, groups=(group,))) as simulator:
        simulator.load(elf_of(code))
        assert simulator.run_until(end, cycle=10_000, core=0)
        assert simulator.register(0, "s2") - simulator.register(0, "s1") == wanted + 1


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", 5),
        ("fadd.d fa1, fa2, fa2\n" * 8, 8 + 9),
        ("fadd.d fa1, fa1, fa2\n" * 8, 4 * 8 + 6),
        ("fadd.d fa1, fa1, fa2\n addi t0, t0, 1\n" * 8, 4 * 8 + 6),  # the integer core does not wait
        ("fsgnj.d fa1, fa1, fa2\n" * 8, 2 * 8 + 6),
        ("fdiv.d fa1, fa1, fa2\n", 12 + 6),
    ],
)
def test_the_unit_has_its_own_time(body: str, wanted: int) -> None:
    assert cycles(body + "settle", "fcvt.d.w fa0, zero\n settle") == wanted


def test_a_full_queue_holds_the_core() -> None:
    quotients = "fdiv.d fa1, fa1, fa2\n"
    simulator = run(f"csrr s0, mcycle\n {quotients * 16} csrr s1, mcycle\n {quotients * 8} csrr s2, mcycle")
    start, some, all_ = (simulator.register(0, f"s{i}") for i in range(3))
    assert some - start < 16 + 12  # but for code that is fetched
    assert all_ - start > 12 * 7


def test_frep_repeats_blocks_or_instructions_with_staggered_registers() -> None:
    def sums(code: str) -> tuple[float, ...]:
        simulator = run(f"""
            li   t0, 3
            fcvt.d.w fa7, t0
            .irp r, fa0, fa1, fa2, fa3
            fcvt.d.w \\r, zero
            .endr
            li   t1, 4
            {code}
            li   s0, {DATA}
            fsd  fa0, 0(s0)
            fsd  fa1, 8(s0)
            fsd  fa2, 16(s0)
            fsd  fa3, 24(s0)
            settle
        """)
        return struct.unpack("<4d", simulator.read(DATA, 32))

    pair = "fadd.d fa0, fa0, fa7\n fadd.d fa1, fa1, fa0\n"
    assert sums(frep(FREP_O, 2, "t1") + pair) == (15, 3 + 6 + 9 + 12 + 15, 0, 0)
    assert sums(frep(FREP_I, 2, "t1") + pair) == (15, 5 * 15, 0, 0)
    rd_and_rs1 = "x7"  # mask 0011, outer
    assert sums(frep(rd_and_rs1, 1, "t1", stagger=3) + "fadd.d fa0, fa0, fa7\n") == (6, 3, 3, 3)


def test_a_dot_product_of_streams_takes_a_cycle_per_element() -> None:
    """Two read streams, four accumulators in turn."""
    a, b = [float(i % 7) for i in range(64)], [float(i % 5 - 2) for i in range(64)]
    body = f"""
        stream_set 2, 0, 63
        stream_set 6, 0, 8
        stream_set 2, 1, 63
        stream_set 6, 1, 8
        stream_set 1, 31, 0
        stream_set 24, 0, {TCDM}
        stream_set 24, 1, {TCDM + 512}
        .irp r, fa0, fa1, fa2, fa3
        fcvt.d.w \\r, zero
        .endr
        li   t1, 63
        settle
        csrr s1, mcycle
        csrsi 0x7c0, 1
        {frep("x19", 1, "t1", stagger=3)} fmadd.d fa0, ft0, ft1, fa0
        settle
        csrci 0x7c0, 1
        csrr s2, mcycle
        fadd.d fa0, fa0, fa1
        fadd.d fa2, fa2, fa3
        fadd.d fa0, fa0, fa2
        li   s0, {DATA}
        fsd  fa0, 0(s0)
        .insn i 0x2b, 1, s3, x0, (0 << 5) | 0      # status of data mover 0
        settle
    """
    simulator = run(body, data={TCDM: struct.pack("<64d", *a), TCDM + 512: struct.pack("<64d", *b)})
    assert struct.unpack("<d", simulator.read(DATA, 8)) == (sum(x * y for x, y in zip(a, b, strict=True)),)
    assert 64 <= simulator.register(0, "s2") - simulator.register(0, "s1") <= 64 + 16
    assert simulator.register(0, "s3") >> 28 == 0b1000


def test_streams_of_loops_with_repetition_write_back() -> None:
    """Three loops inwards, every element twice; one outwards with a stride of 16 bytes."""
    shape, strides = (2, 3, 2), (8, 32, 8 * 16)
    increments = (strides[0], strides[1] - strides[0], strides[2] - strides[0] - 2 * strides[1])
    settings = "\n".join(
        f"stream_set {2 + i}, 0, {shape[i] - 1}\n stream_set {6 + i}, 0, {increments[i]}" for i in range(3)
    )
    simulator = run(
        f"""
        {settings}
        stream_set 1, 0, 1
        stream_set 2, 2, 23
        stream_set 6, 2, 16
        stream_set 1, 2, 0
        stream_set 26, 0, {TCDM}
        stream_set 28, 2, {TCDM + 0x1000}
        fcvt.d.w fa1, zero
        li   t1, 23
        csrsi 0x7c0, 1
        {frep(FREP_O, 1, "t1")} fadd.d ft2, ft0, fa1
        settle
        csrci 0x7c0, 1
        """ + "nop\n" * 16,
        data={TCDM: struct.pack("<64d", *range(64))},
    )  # fmt: skip
    order = [i + 4 * j + 16 * k for k in range(2) for j in range(3) for i in range(2) for _ in range(2)]
    found = struct.unpack("<46d", simulator.read(TCDM + 0x1000, 46 * 8))
    assert [int(value) for value in found[::2]] == order[:23]


def test_an_access_waits_for_one_of_the_unit_to_the_same_bytes() -> None:
    simulator = run(f"""
        li   s0, {TCDM}
        li   t0, 5
        fcvt.d.w fa1, t0
        fcvt.d.w fa2, t0
        fdiv.d fa1, fa1, fa2
        fsd  fa1, 0(s0)
        lw   s1, 4(s0)
    """)
    assert simulator.register(0, "s1") == 0x3FF << 20


DMA = """
    .macro copy to, from, bytes
    li   t0, \\from
    .insn r 0x2b, 0, 0, x0, t0, x0
    li   t0, \\to
    .insn r 0x2b, 0, 1, x0, t0, x0
    li   t0, \\bytes
    .insn r 0x2b, 0, 2, s1, t0, x0
    .endm
    .macro wait_dma
9:  .insn r 0x2b, 0, 4, t0, x0, x2
    bnez t0, 9b
    .endm
"""


def test_dma_moves_rows_between_all_memories() -> None:
    content = bytes(i * 7 & 255 for i in range(4096))
    simulator = run(
        DMA + f"""
        copy {TCDM + 3}, {DATA + 1}, 1000
        wait_dma
        copy {DATA + 0x2000}, {TCDM + 3}, 1000
        copy {TCDM + 0x2000}, {ZEROS}, 64
        li   t0, 100
        li   t1, 24
        .insn r 0x2b, 0, 6, x0, t0, t1             # strides: source, destination
        li   t0, 5
        .insn r 0x2b, 0, 7, x0, t0, x0             # rows
        li   t0, {DATA}
        .insn r 0x2b, 0, 0, x0, t0, x0
        li   t0, {TCDM + 0x1000}
        .insn r 0x2b, 0, 1, x0, t0, x0
        li   t0, 20
        .insn r 0x2b, 0, 2, s2, t0, x2             # two dimensions
        wait_dma
        .insn r 0x2b, 0, 4, s3, x0, x0
        """,
        DMA_HART,
        {DATA: content, TCDM + 0x2000: b"\xff" * 64},
    )  # fmt: skip
    assert simulator.read(DATA + 0x2000, 1000) == content[1:1001]
    assert simulator.read(TCDM + 0x2000, 64) == bytes(64)
    for row in range(5):
        assert simulator.read(TCDM + 0x1000 + 24 * row, 20) == content[100 * row : 100 * row + 20]
    assert simulator.register(DMA_HART, "s2") == simulator.register(DMA_HART, "s3") == 5


def test_empty_transfers_end_in_their_turn() -> None:
    status = ".insn r 0x2b, 0, 4, {}, x0, x0\n"
    simulator = run(
        f"""{DMA}
        copy {TCDM + 0x2000}, {TCDM}, 4096
        copy {TCDM}, 0, 0
        {status.format("s2")}
        wait_dma
        {status.format("s3")}
        copy {TCDM}, 0, 0
        {status.format("s4")}
        """,
        DMA_HART,
    )
    assert [simulator.register(DMA_HART, f"s{i}") for i in (2, 3, 4)] == [1, 3, 4]


@pytest.mark.parametrize(("size", "wanted"), [(64, 7), (128, 9), (1024, 23)])
def test_dma_moves_64_bytes_a_cycle(size: int, wanted: int) -> None:
    before = DMA + f"""
        li   t0, {TCDM}
        .insn r 0x2b, 0, 0, x0, t0, x0
        li   t0, {DATA}
        .insn r 0x2b, 0, 1, x0, t0, x0
        li   t0, {size}
    """  # fmt: skip
    body = ".insn r 0x2b, 0, 2, s1, t0, x0\n nop\n 9: .insn r 0x2b, 0, 4, t1, x0, x2\n bnez t1, 9b"
    assert cycles(body, before, DMA_HART) == wanted


def test_only_the_last_core_has_the_dma() -> None:
    with pytest.raises(CompileError, match="illegal instruction"):
        run(".insn r 0x2b, 0, 4, t0, x0, x2")


def test_the_barrier_lets_all_go_on_together() -> None:
    simulator, end = loaded(
        """
        csrr s0, mhartid
        slli t0, s0, 4
    1:  addi t0, t0, -1
        bgtz t0, 1b
        csrr s1, mcycle
        csrr t0, 0x7c2
        csrr s2, mcycle
        """,
        hart=None,
    )
    for _ in range(9):
        assert simulator.run_until(end, cycle=100_000)
    simulator.run_until(cycle=simulator.cycle + 10)
    left = {simulator.register(core, "s2") for core in range(9)}
    assert left == {max(simulator.register(core, "s1") for core in range(9)) + 2}


def test_who_misses_a_barrier_is_named() -> None:
    simulator, _ = loaded("csrr t0, mhartid\n li t1, 3\n beq t0, t1, 5f\n csrr t1, 0x7c2\n 5: wfi\n j 5b", None)
    with pytest.raises(CompileError) as caught:
        simulator.run(1_000_000)
    assert "all cores are asleep" in caught.value.what
    assert "cluster 0 to cluster 2: at the barrier, pc 0x80000010" in caught.value.what
    assert "cluster 3: asleep, pc 0x80000014" in caught.value.what


def test_a_store_wakes_a_core() -> None:
    simulator, end = loaded(
        f"""
        csrr s0, mhartid
        li   t0, 1 << 19
        csrw mie, t0
        beqz s0, 2f
        wfi
        csrr s1, mcycle
        csrr s2, mip
        j    3f
    2:  li   t0, 200
    1:  addi t0, t0, -1
        bnez t0, 1b
        li   t0, 1 << 3
        li   t1, {PERIPHERALS + 0x180}
        csrr s1, mcycle
        sw   t0, 0(t1)
    3:
        """,
        hart=None,
    )
    assert simulator.run_until(end, cycle=10_000, core=3)
    assert simulator.register(3, "s1") - simulator.register(0, "s1") == 2
    assert simulator.register(3, "s2") == 1 << 19
    assert not simulator.register(4, "s1")


def htif(code: bytes) -> bytes:
    """An ELF with the symbols that the host looks for."""
    names = b"\0tohost\0fromhost\0"
    symbols = (
        bytes(16) + struct.pack("<IIIBBH", 1, DATA, 8, 0x11, 0, 1) + struct.pack("<IIIBBH", 8, DATA + 8, 8, 0x11, 0, 1)
    )
    at = 84 + len(code)
    head = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    sections = at + len(symbols) + len(names)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, BASE, 52, sections, 0, 52, 32, 1, 40, 3, 2)
    load = struct.pack("<IIIIIIII", 1, 84, BASE, BASE, len(code), len(code), 7, 4)
    table = struct.pack("<10I", 0, 2, 0, 0, at, len(symbols), 2, 0, 4, 16)
    strings = struct.pack("<10I", 0, 3, 0, 0, at + len(symbols), len(names), 0, 0, 1, 0)
    return head + load + code + symbols + names + bytes(40) + table + strings


def test_the_host_prints_and_ends_the_run() -> None:
    code, _ = program(f"""
        li   s0, {DATA + 64}
        li   t0, 64
        sw   t0, 0(s0)
        li   t0, 1
        sw   t0, 8(s0)
        li   t0, {DATA + 256}
        sw   t0, 16(s0)
        li   t0, 6
        sw   t0, 24(s0)
        li   t1, {DATA}
        sw   s0, 0(t1)
        lw   s1, 0(t1)
        lw   s2, 8(t1)
        lw   s3, 0(s0)
        li   t0, (7 << 1) | 1
        sw   t0, 0(t1)
    """)
    with Simulator("snitch") as simulator:
        simulator.load(parse_elf(htif(code), "test"))
        simulator.write(DATA + 256, b"hello\n")
        report = simulator.run(100_000)
        assert (report.stdout, report.exit_code) == ("hello\n", 7)
        assert [simulator.register(0, f"s{i}") for i in (1, 2, 3)] == [0, 1, 6]
        assert simulator.read_word(0x1020) == BASE


@pytest.mark.parametrize("place", [TCDM, DATA], ids=("TCDM", "DRAM"))
def test_a_stream_reads_the_same_with_checks(place: int) -> None:
    body = f"""
        fcvt.d.w fs0, zero
        stream_set 2, 0, 1
        stream_set 6, 0, 8
        stream_set 24, 0, {place}
        csrsi 0x7c0, 1
        fadd.d fa1, ft0, fs0
        fadd.d fa0, ft0, fa1
        csrci 0x7c0, 1
        li   t0, {TCDM + 256}
        fsd  fa0, (t0)
        settle
    """
    data = {place: struct.pack("<2d", 1.5, 40.5)}
    for checked in (False, True):
        assert run(body, data=data, misuse=checked).read(TCDM + 256, 8) == struct.pack("<d", 42.0)


def refusal(body: str, hart: int = 0, data: dict[int, bytes] | None = None, **checks: bool) -> str:
    with pytest.raises(CompileError) as caught:
        run(body, hart, data, **checks)
    return str(caught.value)


def test_what_cannot_go_on_is_told() -> None:
    stream = "csrsi 0x7c0, 1\n fadd.d fa0, ft0, ft0\n settle"
    assert "its data mover has nothing to deliver" in refusal(stream)
    assert "past the queue" in refusal("csrsi 0x7c0, 1\n fmv.x.w t0, ft1")
    write = f"stream_set 2, 1, 1\n stream_set 6, 1, 8\n stream_set 28, 1, {TCDM}\n csrsi 0x7c0, 1\n"
    run(write + "fsgnj.d ft1, fa0, fa0\n" * 2 + "settle")
    assert "nothing to deliver or take" in refusal(write + "fsgnj.d ft1, fa0, fa0\n" * 3 + "settle")
    body = frep(FREP_O, 2, "zero") + "fadd.d fa0, fa0, fa0\n fmv.x.w t0, fa1\n"
    assert "does not go through the queue" in refusal(body)
    assert "at most 16" in refusal(frep(FREP_O, 17, "zero"))


def _pairs_from(address: int) -> str:
    """The sum of eight numbers that a stream delivers."""
    stream = f"stream_set 1, 0, 0\n stream_set 2, 0, 7\n stream_set 6, 0, 8\n stream_set 24, 0, {address}\n"
    summed = "fcvt.d.w fa1, zero\n li t1, 7\n" + frep(FREP_O, 1, "t1") + "fadd.d fa1, fa1, ft0\n settle\n"
    return stream + "csrsi 0x7c0, 1\n" + summed + "csrci 0x7c0, 1\n"


@pytest.mark.parametrize("address", [TCDM, DATA])
def test_streams_are_the_same_while_the_sanitizer_looks(address: int) -> None:
    data = {address: struct.pack("<8d", *range(8))}
    plain, checked = run(_pairs_from(address), data=data), run(_pairs_from(address), data=data, unwritten=True)
    assert plain.register(0, "f11") == checked.register(0, "f11") == struct.unpack("<Q", struct.pack("<d", 28.0))[0]
    assert plain.cycle == checked.cycle


@pytest.mark.in_turns(3)
def test_the_sanitizer() -> None:
    body = frep(FREP_O, 2, "zero") + "fadd.d fa0, fa0, fa0\n addi t0, t0, 1\n fadd.d fa0, fa0, fa0\n"
    assert "integer core in the body of frep" in refusal(body, misuse=True)
    run(body)
    read = f"stream_set 2, 0, 1\n stream_set 6, 0, 8\n stream_set 24, 0, {TCDM}\n"
    element, plain = "fadd.d fa0, ft0, fa0\n", "fmv.d ft0, fa1\n"
    assert "while streams are off" in refusal(read + element, misuse=True)
    early = read + "csrsi 0x7c0, 1\n" + element + "csrci 0x7c0, 1\n" + element
    assert "while streams are off" in refusal(early, misuse=True)
    run(read + plain + element + "csrsi 0x7c0, 1\n" + element * 2 + "csrci 0x7c0, 1\n" + element, misuse=True)
    assert "is uninitialised" in refusal(f"li s0, {TCDM}\n lw t0, 64(s0)", unwritten=True)
    assert "is uninitialised" in refusal(f"li s0, {TCDM}\n fld fa0, 64(s0)\n settle", unwritten=True)
    assert "is uninitialised" in refusal(_pairs_from(TCDM), unwritten=True)
    live = DMA + f"copy {TCDM}, {DATA}, 4096\n li s0, {TCDM + 4000}\n lw t0, 0(s0)\n wait_dma"
    assert "transfer" in refusal(live, DMA_HART, transfers=True)
    run(DMA + f"copy {TCDM}, {DATA}, 4096\n wait_dma\n li s0, {TCDM + 4000}\n lw t0, 0(s0)", DMA_HART, transfers=True)


WORK = f"""
    li   s0, {TCDM}
    li   s1, 40
    li   t1, 7
    fcvt.d.w fa1, t1
1:  fadd.d fa0, fa0, fa1
    fsd  fa0, 0(s0)
    lw   t0, 0(s0)
    addi s1, s1, -1
    bnez s1, 1b
"""


def test_the_same_cycles_with_snapshots_steps_and_watching() -> None:
    plain, end = loaded(WORK)
    assert plain.run_until(end, core=0)
    for disturb in ("snapshot", "steps", "watch"):
        simulator, end = loaded(WORK)
        if disturb == "watch":
            simulator.watch(trace=True)
        simulator.run_until(cycle=150)
        if disturb == "steps":
            for _ in range(20):
                simulator.step(0)
        state = simulator.snapshot()
        assert simulator.run_until(end, core=0)
        if disturb == "snapshot":
            simulator.restore(state)
            assert simulator.run_until(end, core=0)
        assert simulator.cycle == plain.cycle, disturb
        assert simulator.register(0, "f10") == plain.register(0, "f10")


def test_debuggers_see_doubles() -> None:
    assert '<reg name="f3" bitsize="64" type="ieee_double"/>' in target_description(True, 64)
    simulator = run("li t0, 3\n fcvt.d.w fa0, t0")
    server = Server(simulator, 0)
    with server.listener:
        value = struct.pack("<d", 3.0).hex()
        assert server.read_register(f"{33 + 10:x}") == value
        assert server.write_register(f"{33 + 11:x}={value}") == "OK"
        assert simulator.register(0, "f11") == simulator.register(0, "f10")
        registers = server.read_registers("")
        assert len(registers) == 2 * (33 * 4 + 32 * 8 + 3 * 4)
        assert server.write_registers(registers) == "OK"
        assert simulator.register(0, "f11") == simulator.register(0, "f10")
