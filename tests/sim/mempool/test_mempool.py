"""The virtual MemPool: values, latencies by distance, conflicts, wake-ups, DMA, what is refused."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sim.assembling import BASE, FOREVER, elf_bytes, elf_of, run_words
from tests.sim.assembling import built as built_for_siracusa
from tests.sim.mempool.programs import (
    DATA,
    INTERLEAVED,
    SEQUENTIAL,
    built,
    cycles,
    loaded,
    run,
    run_all,
    until_asleep,
)
from tilewright.errors import CompileError
from tilewright.sim.gdb import Server
from tilewright.sim.platforms import find_platform
from tilewright.sim.platforms.mempool import MINPOOL
from tilewright.sim.program.elf import parse_elf
from tilewright.sim.simulator import Simulator

CONTROL, DMA = 0x4000_0000, 0x4001_0000
OWN, NEIGHBOUR, FAR = 0, 3 * SEQUENTIAL, 40 * SEQUENTIAL
"""Sequential addresses of tile 0, of a tile of its group, and of one of another group."""


# ---- instructions ----

RANDOM_OPERATIONS = [
    (0x02000033, "mul"), (0x02001033, "mulh"), (0x02004033, "div"), (0x02006033, "rem"), (0x04004033, "p.min"),
    (0x04000033, "p.abs"), (0x42000033, "p.mac"), (0x42001033, "p.msu"), (0x14005033, "p.clipr"),
    (0x10006033, "p.extbs"), (0x00000057, "pv.add.h"), (0x08005057, "pv.sub.sc.b"), (0x10007057, "pv.avg.sci.b"),
    (0x48001057, "pv.sra.b"), (0x98001057, "pv.dotsp.b"), (0xB8001057, "pv.sdotsp.b"), (0xB8005057, "pv.sdotsp.sc.b"),
    (0xA0000057, "pv.sdotup.h"), (0xA8001057, "pv.sdotusp.b"), (0xC8001057, "pv.shuffle2.b"), (0xD0000057, "pv.pack"),
    (0x78007057, "pv.extract.b"), (0xB0007057, "pv.insert.b"),
]  # fmt: skip


def test_arithmetic_is_that_of_the_other_cores() -> None:
    """Random operands; XpulpV2's instructions of the same encoding."""
    rng = random.Random(3)
    words = []
    for match, name in RANDOM_OPERATIONS * 4:
        second = 0 if name in ("p.abs", "p.extbs") else rng.randrange(16, 28)
        words.append(match | rng.randrange(5, 16) << 7 | rng.randrange(16, 28) << 15 | second << 20)
    registers = {f"x{i}": rng.getrandbits(32) for i in range(5, 28)}
    wanted = run_words(words, registers)
    code = struct.pack(f"<{len(words)}I", *words)
    with Simulator("minpool") as found:
        found.load(elf_of(code + FOREVER))
        for name, value in registers.items():
            found.set_register(0, name, value)
        assert found.run_until(BASE + len(code), cycle=100_000, core=0)
        for i in range(32):
            assert found.register(0, f"x{i}") == wanted.register(0, f"x{i}"), f"x{i}"


def test_pack_takes_low_or_high_halves() -> None:
    simulator = run("""
        li s0, 0x11112222
        li s1, 0x33334444
        .insn r 0x57, 0, 0x68, s2, s0, s1
        .insn r 0x57, 0, 0x69, s3, s0, s1
    """)
    assert simulator.register(0, "s2") == 0x2222_4444
    assert simulator.register(0, "s3") == 0x1111_3333


def test_addresses_move_on() -> None:
    simulator = run(
        f"""
        li s0, {DATA}
        li s1, {INTERLEAVED}
        li s5, 8
        .insn i 0x0b, 2, t0, s0, 4             # p.lw t0, 4(s0!)
        .insn r 0x0b, 7, 0x10, t1, s0, s5      # p.lw t1, s5(s0!)
        .insn r 0x03, 7, 0x20, t2, s0, s5      # p.lbu t2, s5(s0)
        .insn s 0x2b, 2, t0, 4(s1)             # p.sw t0, 4(s1!)
        .insn r 0x2b, 6, 0x00, s5, s1, t1      # p.sw t1, s5(s1!)
        .insn r 0x23, 6, 0x00, s5, s1, t2      # p.sw t2, s5(s1)
        sub s0, s0, t0
        """,
        data={DATA: struct.pack("<6I", 0x11, 0x22, 0x33, 0x44, 0x55, 0x6677)},
    )
    assert simulator.register(0, "s1") == INTERLEAVED + 12
    assert simulator.register(0, "s0") == DATA + 12 - 0x11
    stored = struct.unpack("<6I", simulator.read(INTERLEAVED, 24))
    assert (stored[0], stored[1], stored[5]) == (0x11, 0x22, 0x77)


@pytest.mark.parametrize(
    "word",
    [0x0000007B, 0xC0000033, 0x04000057 | 1 << 26, 0x00002007, 0x0001],
    ids=["lp.starti", "p.extract", "pv.cmpeq", "flw", "compressed"],
)
def test_what_the_cores_do_not_have_is_illegal(word: int) -> None:
    with pytest.raises(CompileError, match="illegal instruction"):
        run(f".word {word:#x}")


def test_atomics_on_both_memories() -> None:
    for at in (INTERLEAVED, DATA):
        simulator = run(f"""
            li   s0, {at}
            li   t0, 5
            sw   t0, 0(s0)
            li   t1, 7
            amoadd.w s1, t1, (s0)
            amomax.w s2, t0, (s0)
            lr.w s3, (s0)
            sc.w s4, t0, (s0)
            sc.w s5, t1, (s0)
            lw   s6, 0(s0)
            add  s6, s6, zero
        """)
        assert [simulator.register(0, f"s{i}") for i in range(1, 7)] == [5, 12, 12, 0, 1, 5]


# ---- latencies ----


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        (OWN, 1),
        (NEIGHBOUR, 3),
        (FAR, 5),
        (INTERLEAVED, 1),
        (INTERLEAVED + 64 * 3, 3),
        (INTERLEAVED + 64 * 40, 5),
        (DATA, 30),
    ],
)
def test_a_load_takes_as_long_as_its_way(address: int, wanted: int) -> None:
    """Between the load and its first use; what comes in between hides it."""
    before = f"li s0, {address}"
    assert cycles("lw t0, 0(s0)\n addi t0, t0, 1", before) == wanted + 1
    if wanted <= 5:
        assert cycles("lw t0, 0(s0)\n nop\n nop\n nop\n nop\n addi t0, t0, 1", before) == 6


def test_the_sequential_part_follows_its_size() -> None:
    """Of 2 KiB each, tile 1 begins where the second half of tile 0 was."""
    group = find_platform("mempool").groups[0]
    assert group.tiles is not None
    small = replace(
        find_platform("mempool"), groups=(replace(group, tiles=replace(group.tiles, sequential_bytes=2048)),)
    )
    use = "lw t0, 0(s0)\n addi t0, t0, 1"
    assert cycles(use, "li s0, 2048") == 2
    assert cycles(use, "li s0, 2048", platform=small) == 4
    assert cycles(use, f"li s0, {64 * 2048 + 64 * 17}", platform=small) == 6


def test_products_are_pipelined_and_quotients_are_not() -> None:
    assert cycles("mul t0, a0, a1\n mul t1, a0, a1\n mul t2, a0, a1") == 3
    assert cycles("mul t0, a0, a1\n add t0, t0, t0") == 4
    assert cycles(".insn r 0x57, 1, 0x5c, t0, a0, a1\n" * 2) == 4
    assert cycles("div t0, a0, a1\n div t1, a0, a1\n add t1, t1, t1") == 1 + 2 * 32


def test_eight_accesses_are_under_way() -> None:
    """The ninth to L2 waits for the first."""
    stores = "\n".join(f"sw zero, {4 * i}(s0)" for i in range(8))
    assert cycles(stores, f"li s0, {DATA}") == 8
    assert cycles(stores + "\n sw zero, 32(s0)", f"li s0, {DATA}") == 31


def test_fence_waits_for_stores() -> None:
    assert cycles("sw zero, 0(s0)\n fence", f"li s0, {DATA}") == 31
    assert cycles("sw zero, 0(s0)\n fence", f"li s0, {FAR}") == 6


# ---- conflicts ----

LOADS = 512


def contention(before: str, cores: int) -> list[int]:
    """Cycles that some cores take for many loads, which begin together."""
    simulator = run_all(f"""
        csrr s0, mhartid
        li   t0, {cores}
        bgeu s0, t0, 4f
        {before}
        li   s3, {LOADS // 8}
        li   t0, 1024
    2:  csrr s1, mcycle
        bltu s1, t0, 2b
    3:  {"".join(f"lw a{i}, 0(s2);" for i in range(8))}
        addi s3, s3, -1
        bnez s3, 3b
        csrr s5, mcycle
    4:
    """)
    return [simulator.register(core, "s5") - simulator.register(core, "s1") for core in range(cores)]


def test_a_bank_gives_one_access_each_cycle() -> None:
    alone, loop = contention("li s2, 0", 1)[0], LOADS + LOADS // 4
    assert alone <= loop + 8
    four = contention("li s2, 0", 4)
    assert 4 * LOADS <= max(four) <= 4 * LOADS + 64
    assert min(four) > 3 * LOADS, "nobody is preferred"
    assert max(contention("slli s2, s0, 2", 4)) <= alone + 8, "different banks"


def test_a_tile_has_one_port_for_each_group() -> None:
    """Cores of one tile to different banks of one far tile; to three groups and their own."""
    assert max(contention(f"li s2, {FAR}\n slli t0, s0, 2\n add s2, s2, t0", 4)) >= 4 * LOADS
    spread = contention(f"li t0, {16 * SEQUENTIAL}\n mul s2, s0, t0\n addi s2, s2, 64\n", 4)
    assert max(spread) <= LOADS + LOADS // 4 + 32


def test_a_tile_takes_one_access_of_each_group() -> None:
    """The first cores of eight tiles ask different banks of the last tile: of one group, and of two."""
    place = f"""
        andi t0, s0, 3
        bnez t0, 4f
        {{skip}}
        li   s2, {63 * SEQUENTIAL}
        srli t0, s0, 2
        andi t0, t0, 15
        slli t0, t0, 2
        add  s2, s2, t0
    """
    one = contention(place.format(skip=""), 32)[::4]
    assert abs(max(one) - 8 * LOADS) < 100
    two = contention(place.format(skip="andi t0, s0, 32\n bnez t0, 4f"), 96)
    assert abs(max(two[:32:4] + two[64::4]) - 8 * LOADS) < 100


# ---- waking and meeting ----


def wake_program(register: str, value: str, first: str = "") -> str:
    return f"""
        csrr s0, mhartid
        beqz s0, 2f
        .balign 32
        wfi
        csrr s1, mcycle
        li   s2, 1
        wfi
    2:  li   t0, 300
    1:  addi t0, t0, -1
        bnez t0, 1b
        li   t1, {CONTROL}
        {first}
        li   t0, {value}
        csrr s1, mcycle
        sw   t0, {register}(t1)
        li   t0, 200
    3:  addi t0, t0, -1
        bnez t0, 3b
    """


@pytest.mark.parametrize(
    ("register", "value", "first", "woken"),
    [
        ("0x04", "7", "", [7]),
        ("0x04", "-1", "", list(range(1, 256))),
        ("0x0c", "0x8001", "", [*range(64, 68), *range(124, 128)]),
        ("0x28", "0b1010", "", [*range(64, 128), *range(192, 256)]),
        ("0x04", "-1", "li t0, 16\n sw t0, 0x2c(t1)\n li t0, 3\n sw t0, 0x30(t1)", list(range(3, 256, 16))),
    ],
)
def test_registers_wake_cores(register: str, value: str, first: str, woken: list[int]) -> None:
    simulator, end = loaded(wake_program(register, value, first), hart=None)
    assert simulator.run_until(end, cycle=10_000, core=0)
    assert [i for i in range(1, 256) if simulator.register(i, "s2")] == woken
    assert simulator.register(woken[0], "s1") - simulator.register(0, "s1") == 1 + 15


def test_wake_ups_that_nobody_waited_for_are_kept() -> None:
    """Two of them for the core itself: two times wfi goes on, the third time it does not."""
    body = f"li t1, {CONTROL}\n sw zero, 4(t1)\n sw zero, 4(t1)\n fence\n wfi\n wfi\n li s1, 1\n wfi\n li s1, 2"
    simulator, _ = loaded(body)
    until_asleep(simulator)
    assert simulator.register(0, "s1") == 1


@pytest.mark.parametrize(("platform", "cores", "low", "high"), [("minpool", 16, 30, 90), ("mempool", 256, 270, 330)])
def test_a_program_of_all_cores(platform: str, cores: int, low: int, high: int) -> None:
    """A barrier of 256 takes about 300 cycles: one for each core at the counter's bank, and the way to the register."""
    with Simulator(platform) as simulator:
        simulator.load(built("mempool_barriers.c", cores // 4))
        simulator.probe(["core_main"])
        report = simulator.run(1_000_000)
        assert (report.exit_code, report.stdout) == (5, "all met\n")
        assert simulator.read_word("sum") == sum(i * i for i in range(4096)) & 0xFFFF_FFFF
        assert low <= simulator.read_word("took") <= high
        assert 40 + 64 <= simulator.read_word("copy_took") <= 40 + 64 + 70
        (transfer,) = simulator.transfers()
        assert (transfer.bytes, transfer.end - transfer.start) == (4096 * 4, 40 + 64)
        for core in report.cores:
            assert core.instructions + sum(core.stalls.values()) == core.cycles
        counts = simulator.activity().counts
        assert counts["dma_bytes"] == counts["l1.dma_bytes"] == 4096 * 4
        assert counts["shared_refills"] > cores // 4 * 8, "every tile has a cache of its own"


def test_a_barrier_that_one_misses_names_who_sleeps_where() -> None:
    with Simulator("minpool") as simulator:
        simulator.load(built("mempool_barriers.c", 4, "-DSTUCK"))
        with pytest.raises(CompileError) as caught:
            simulator.run(1_000_000)
    lines = caught.value.what.splitlines()
    assert lines[0] == "all cores are asleep and nothing can wake them:"
    assert lines[1].startswith("    cluster 0: asleep, pc ")
    assert "core_main" in lines[1]
    assert lines[2].startswith("    cluster 1 to cluster 15: asleep, pc ")
    assert "_start" in lines[2]


# ---- registers, DMA ----


def test_registers_tell_what_there_is() -> None:
    read = "\n".join(f"lw s{i}, {offset}(t0)" for i, offset in enumerate((0x34, 0x38, 0x3C), 1))
    old = "\n".join(f"lw s{i}, {offset}(t0)" for i, offset in enumerate((0x08, 0x0C, 0x10), 1))
    for platform, registers, wanted in (
        ("mempool", read, [0, 0x10_0000, 256]),
        ("minpool", read, [0, 0x1_0000, 16]),
        ("itapool", old, [0, 0x10_0000, 192]),
    ):
        simulator = run(f"li t0, {CONTROL}\n{registers}\n add s1, s1, zero\n fence", platform=platform)
        assert [simulator.register(0, f"s{i}") for i in (1, 2, 3)] == wanted


def transfer(to: int, source: int, size: int, wait: bool = True) -> str:
    registers = "".join(f"li t0, {value}\n sw t0, {at}(t1)\n" for at, value in ((0, source), (4, to), (8, size)))
    poll = "1: lw t0, 0x18(t1)\n beqz t0, 1b\n" if wait else ""
    return f"li t1, {DMA}\n{registers} lw s1, 0x14(t1)\n{poll}"


def test_dma_moves_bytes_both_ways() -> None:
    content = bytes(i * 7 & 255 for i in range(5000))
    simulator = run(
        transfer(INTERLEAVED, DATA, 5000) + transfer(DATA + 0x4000, INTERLEAVED + 400, 4000),
        data={DATA: content},
        unwritten=True,
        transfers=True,
        misuse=True,
    )
    assert simulator.read(INTERLEAVED, 5000) == content
    assert simulator.read(DATA + 0x4000, 4000) == content[400:4400]
    assert simulator.register(0, "s1") == 1


def test_a_launch_waits_for_the_transfer_before() -> None:
    launches = transfer(INTERLEAVED, DATA, 25600, wait=False) + transfer(INTERLEAVED, DATA, 256)
    simulator = run(f"csrr s2, mcycle\n {launches} csrr s3, mcycle")
    assert simulator.register(0, "s3") - simulator.register(0, "s2") > (40 + 100) + (40 + 1)


def refusal(body: str, hart: int = 0, platform: str = "mempool", **checks: bool) -> str:
    with pytest.raises(CompileError) as caught:
        run(body, hart, None, platform, **checks)
    return str(caught.value)


def test_the_sanitizer() -> None:
    assert "is uninitialised" in refusal("li s0, 64\n lw t0, 0(s0)", unwritten=True)
    live = transfer(INTERLEAVED, DATA, 4096, wait=False) + f"li s0, {INTERLEAVED}\n lw t0, 0(s0)"
    assert "a DMA transfer is in flight" in refusal(live, transfers=True)
    assert "wakes a core that does not exist" in refusal(f"li t0, {CONTROL}\n li t1, 256\n sw t1, 4(t0)", misuse=True)
    assert "can only be read" in refusal(f"li t0, {CONTROL}\n sw zero, 0x3c(t0)", misuse=True)
    assert "less than 32 bits" in refusal(f"li t0, {CONTROL}\n sb zero, 4(t0)", misuse=True)
    assert "not between L1 and L2" in refusal(transfer(DATA, DATA + 64, 64), misuse=True)
    assert "not of whole words" in refusal(transfer(INTERLEAVED, DATA + 2, 64), misuse=True)
    early = transfer(INTERLEAVED, DATA, 4096, wait=False) + f"li t0, {CONTROL}\n li t1, 1\n sw t1, 0(t0)"
    assert "while a device is at work" in refusal(early, misuse=True)


def test_what_goes_wrong_is_told() -> None:
    assert "reads 4 bytes at 0x00000001, which is not aligned" in refusal("li s0, 1\n lw t0, 0(s0)")
    assert "writes 2 bytes at 0x20000000, where nothing is mapped" in refusal("li s0, 0x20000000\n sh t0, 0(s0)")
    assert "a device reads 256 bytes at 0x20000000" in refusal(transfer(INTERLEAVED, 0x2000_0000, 4096))


def test_programs_for_others_are_named() -> None:
    with Simulator("minpool") as simulator:
        with pytest.raises(CompileError) as caught:
            simulator.load(built_for_siracusa("sum.c"))
        assert "compressed instructions, which those of minpool lack" in caught.value.what
        assert caught.value.hint.startswith("is it for siracusa? Or ")
        floats = bytearray(elf_bytes(FOREVER))
        floats[36] = 4
        with pytest.raises(CompileError) as caught:
            simulator.load(parse_elf(bytes(floats), "test"))
        assert "floating point, which those of minpool lack" in caught.value.what
        assert "snitch" in caught.value.hint
        with pytest.raises(CompileError, match="lies outside the memories of minpool"):
            simulator.load(parse_elf(elf_bytes(FOREVER, base=0x1000_0000), "test"))
        with pytest.raises(CompileError) as caught:
            simulator.load(built("mempool_barriers.c", 64))
        assert "lies outside the memories of minpool" in caught.value.what
        assert caught.value.hint.startswith("is it for mempool or itapool? Or link it into one of: l1 0x0..0x10000")


# ---- watching ----

WORK = f"""
    csrr s0, mhartid
    slli s0, s0, 6
    li   t0, {INTERLEAVED}
    add  s0, s0, t0
    li   s1, 60
1:  lw   t0, 0(s0)
    addi t0, t0, 3
    sw   t0, 0(s0)
    lw   t1, 1024(s0)
    mul  t0, t0, t1
    addi s1, s1, -1
    bnez s1, 1b
"""


def test_the_same_cycles_with_snapshots_steps_and_checks() -> None:
    def finish(simulator: Simulator) -> list[int]:
        until_asleep(simulator)
        return [simulator.register(core, "s2") for core in range(16)]

    body = f"{WORK} csrr s2, mcycle\n 9: wfi\n j 9b".replace(str(INTERLEAVED), str(0x4000))
    plain = finish(loaded(body, None, "minpool")[0])
    for disturb in ("snapshot", "steps", "watch", "check", "slices"):
        simulator, _ = loaded(body, None, "minpool", misuse=disturb == "check", transfers=disturb == "check")
        if disturb == "watch":
            simulator.watch(trace=True)
        simulator.run_until(cycle=150)
        if disturb == "steps":
            for _ in range(20):
                simulator.step(3)
        for cycle in range(160, 300, 7) if disturb == "slices" else ():
            simulator.run_until(cycle=cycle)
        state = simulator.snapshot()
        found = finish(simulator)
        if disturb == "snapshot":
            simulator.restore(state)
            found = finish(simulator)
        assert found == plain, disturb


def test_profiles_and_debuggers(tmp_path: Path) -> None:
    with Simulator("minpool") as simulator:
        simulator.load(built("mempool_barriers.c", 4))
        simulator.watch(trace=True)
        assert simulator.run_until("core_main", core=9)
        server = Server(simulator, 0)
        with server.listener:
            assert len(server.read_registers("")) == 33 * 8
        report = simulator.run(1_000_000)
        simulator.write_trace(tmp_path / "trace.json")
        assert '"dma channel 0"' in (tmp_path / "trace.json").read_text()
        rows = {row.name: row for row in simulator.profile()}
        assert sum(rows["core_main"].per_core) == rows["core_main"].cycles > 16 * 100
        assert report.exit_code == 5


def test_descriptions_are_checked() -> None:
    (group,) = MINPOOL.groups
    assert group.tiles is not None
    for changed, what in (
        (replace(group, tiles=None), "need tiles"),
        (replace(group, cores=12), "12 cores do not fill its tiles"),
        (replace(group, tiles=replace(group.tiles, count=3)), "powers of two"),
        (replace(group, tiles=replace(group.tiles, sequential_bytes=0x1_0000)), "hold what is sequential"),
        (replace(group, loads_in_flight=0), "1 to 16 accesses in flight"),
    ):
        with pytest.raises(CompileError, match=what):
            Simulator(replace(MINPOOL, groups=(changed,)))
