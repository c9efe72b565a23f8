"""Whatever a user, a file or a program asks for, the answer is an error in words and never a crash."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sim.assembling import assemble, built, elf_bytes, elf_of
from tilewright.errors import CompileError
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.program.elf import parse_elf
from tilewright.sim.simulator import Simulator
from tilewright.sim.user.device import UserDevice

L2 = 0x1C01_0000
MEMORY_SIZE_AT = 52 + 20


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda s: s.read(0x1000_0000, 0x5000_0000), "not in one memory"),
        (lambda s: s.read(0x1000_0000, 4, group=9), "not in one memory"),
        (lambda s: s.register(10, "a0"), "has cores 0 to 9"),
        (lambda s: s.set_register(-1, "a0", 1), "has cores 0 to 9"),
        (lambda s: s.step(10), "has cores 0 to 9"),
        (lambda s: s.lock(10), "has cores 0 to 9"),
        (lambda s: s.restore(Simulator("rv32").snapshot()), "another simulator"),
        (lambda s: s.attach("nothing", UserDevice()), "is not a device of siracusa"),
        (lambda s: (s.close(), s.run(10)), "is closed"),
        (lambda s: s.run(10), "has no program"),
        (lambda s: s.read(1 << 33, 4), "is not an address"),
        (
            lambda s: (s.load(built("sum.c")), s.run(), s.load(built("sum.c"))),
            "cannot be loaded: the simulator has already run",
        ),
    ],
)
def test_wrong_calls(use: Callable[[Simulator], object], what: str) -> None:
    with Simulator() as simulator, pytest.raises(CompileError, match=what):
        use(simulator)


@pytest.mark.parametrize(("base", "size"), [(0xFFFF_F000, 0x4000), (-4096, 0x1000), (0x3000_0004, 4), (L2, 0x1000)])
def test_devices_where_none_can_be(base: int, size: int) -> None:
    with pytest.raises(CompileError, match=r"cannot be at|lies over l2"):
        SIRACUSA.with_device("mine", base, size)


def test_too_many_devices() -> None:
    platform = manycore(1)
    for i in range(30):
        platform = platform.with_device(f"d{i}", 0x3000_0000 + 0x1000 * i)
    with pytest.raises(CompileError, match="32 devices already"):
        platform.with_device("one more", 0x4000_0000)


@pytest.mark.parametrize(("size", "what"), [(0xFFFF_F000, "lies outside the memories"), (8, "64 bytes in the file")])
def test_segments_of_wrong_size(size: int, what: str) -> None:
    data = bytearray(elf_bytes(bytes(64), base=L2))
    struct.pack_into("<I", data, MEMORY_SIZE_AT, size)
    with Simulator() as simulator, pytest.raises(CompileError, match=what):
        simulator.load(parse_elf(bytes(data), "x"))


@pytest.mark.parametrize("at", [42, 46])
def test_headers_of_no_size(at: int) -> None:
    data = bytearray(built("sum.c").read_bytes())
    struct.pack_into("<HH", data, at, 0, 0xFFFF)
    with pytest.raises(CompileError, match="is damaged"):
        parse_elf(bytes(data), "x")


def damaged(seed: int, data: bytes) -> bytes:
    """Some bytes changed, most of them in the headers; one file in four is cut off."""
    chosen, result = random.Random(seed), bytearray(data)
    for _ in range(chosen.choice([1, 2, 8])):
        result[chosen.randrange(4, chosen.choice([52, 200, len(data)]))] = chosen.choice([0, 1, 0x7F, 0x80, 0xFF])
    return bytes(result[: chosen.randrange(len(data)) if seed % 4 == 0 else len(data)])


@pytest.mark.in_turns(3)
def test_damaged_files() -> None:
    """They run, or they fail with a CompileError."""
    data, failures = built("sum.c").read_bytes(), 0
    for seed in range(200):
        with Simulator() as simulator:
            try:
                simulator.load(parse_elf(damaged(seed, data), "x"))
                simulator.watch()
                simulator.run(10_000)
            except CompileError:
                failures += 1
    assert failures > 50


@pytest.mark.parametrize(
    ("device", "what"),
    [("{0}", "lacks a function"), ("{1 << 20, nothing, load, store, tick}", "has 1048576 bytes, at most 65536 fit")],
)
def test_c_devices_that_cannot_work(tmp_path: Path, device: str, what: str) -> None:
    source = f"""
    #include "user_device.h"
    static void nothing(void *s) {{ (void)s; }}
    static uint32_t load(void *s, const tw_host *h, uint32_t o, uint64_t n) {{ (void)s, (void)h, (void)n; return o; }}
    static void store(void *s, const tw_host *h, uint32_t o, uint32_t v, uint64_t n) {{
        (void)s, (void)h, (void)o, (void)v, (void)n;
    }}
    static uint64_t tick(void *s, const tw_host *h, uint64_t n) {{ (void)s, (void)h, (void)n; return TW_NEVER; }}
    static const tw_user_device DEVICE = {device};
    const tw_user_device *tw_device(void) {{ return &DEVICE; }}
    """
    (tmp_path / "device.c").write_text(source)
    with (
        Simulator(SIRACUSA.with_device("mine", 0x3000_0000)) as simulator,
        pytest.raises(CompileError, match=what),
    ):
        simulator.attach("mine", tmp_path / "device.c")


def test_a_tick_that_is_no_number() -> None:
    class Wrong(UserDevice):
        def tick(self, now: int) -> int | None:
            return "soon"  # type: ignore[return-value]

    with Simulator(manycore(1).with_device("mine", 0x3000_0000)) as simulator:
        simulator.attach("mine", Wrong())
        simulator.load(elf_of(assemble("li a0, 0x30000000\n sw a0, 0(a0)\n 1: j 1b")))
        with pytest.raises(TypeError):
            simulator.run(1000)


@pytest.mark.parametrize("after", [0, -5])
def test_a_tick_in_the_past_comes_in_the_next_cycle(after: int) -> None:
    class Late(UserDevice):
        ticks = 0

        def tick(self, now: int) -> int | None:
            self.ticks += 1
            return after if self.ticks < 10 else None

    with Simulator(manycore(1).with_device("mine", 0x3000_0000)) as simulator:
        simulator.attach("mine", device := Late())
        simulator.load(elf_of(assemble("li a0, 0x30000000\n sw a0, 0(a0)\n 1: j 1b")))
        simulator.run_until(cycle=1000)
        assert (device.ticks, simulator.report().busy["mine"]) == (10, 9)


def test_two_devices_of_one_name() -> None:
    with pytest.raises(CompileError, match="is a device of manycore1 already"):
        manycore(1).with_device("mine", 0x3000_0000).with_device("mine", 0x3000_1000)


def dma(*words: str) -> str:
    stores = "; ".join(f"REG(0x10204400) = {word}" for word in words)
    return f"-DFAULT=*(volatile int *)0x10204400; {stores}; for (;;)"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("64 | 7 << 17", "0", "0x1c080000", "0", "8"), "with rows of 0 bytes, which it cannot carry out"),
        (("64 | 3 << 17 | 1 << 23", "0", "0x1c080000"), "gives the DMA the command 0x00860040"),
        (("64 | 3 << 17", "0", "0x50000000"), "a device reads 64 bytes at 0x50000000, where there is no memory"),
        (("64 | 1 << 18", "0x3fff0", "0x1c080000"), "a device reads 4 bytes at 0x10040000, where there is no memory"),
    ],
)
def test_a_wrong_transfer_names_the_line_that_starts_it(words: tuple[str, ...], what: str) -> None:
    with Simulator() as simulator:
        simulator.load(built("sum.c", dma(*words)))
        with pytest.raises(CompileError) as caught:
            simulator.run(100_000)
    assert what in caught.value.what
    assert caught.value.where.startswith("cluster 0, cycle ")
    assert "in cluster_main+0x" in caught.value.where
    assert "(sum.c:" in caught.value.where


def test_1024_cores() -> None:
    source = """
        csrr a0, mhartid
        li a1, 1023
        bne a0, a1, 1f
        li a1, 0x1a1040a0
        li a2, 0x80000007
        sw a2, 0(a1)
    1:  wfi
    """
    with Simulator("manycore1024") as simulator:
        simulator.load(elf_of(assemble(source)))
        report = simulator.run(10_000)
    assert (len(report.cores), report.exit_code) == (1024, 7)
    with pytest.raises(CompileError, match="is not a platform"):
        Simulator("manycore1025")
