"""What the sanitizer says about programs that use ITA as it is not made for."""

from __future__ import annotations

import pytest

from tests.sim.ita.layers import built_for_bench
from tilewright.errors import CompileError
from tilewright.sim.platforms.ita_bench import ITA_BENCH
from tilewright.sim.simulator import Simulator

HOLD = "for (int i = 0; i < 4; i++) { place(); R(0) = 1; }"
TWO_INNER = "place(); R(0x38) = 0x1121; R(0x58) = {flow}; R(0) = 0"
SINGLE = "place(); R(0x54) = 3; R(0x58) = {flow}; R(0) = 0"
PARTIAL, RESULT, PRELOAD, NEXT, NO_BIAS, PER_ROW = 16, 0, 1, 2, 4, 8


def error_of(source: str) -> CompileError:
    with Simulator(ITA_BENCH) as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_bench("ita_registers.c", f"-DDO={source}; drain()"))
        with pytest.raises(CompileError) as caught:
            simulator.run(100_000)
    return caught.value


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("source", "found"),
    [
        (f"{HOLD} R(0) = 0", "starts a job of ITA while four wait or run"),
        (f"{HOLD} R(0x20) = 0", "writes to a context of ITA whose job waits or runs"),
        ("place(); R(0x20) = 64; R(0) = 0", "gives ITA a pointer that is not aligned"),
        ("place(); R(0x30) = 8200; R(0) = 0", "gives ITA a pointer that is not aligned"),
        ("place(); R(0x2c) = 32; R(0x58) = 1; R(0) = 0", "gives ITA a pointer that is not aligned"),
        (
            f"{TWO_INNER.format(flow=PARTIAL | NO_BIAS | PRELOAD)}; job()",
            "gives ITA a job of another layer, or with other numbers of tiles",
        ),
        (TWO_INNER.format(flow=RESULT | NO_BIAS | PRELOAD), "gives ITA a job whose result is not due"),
        (f"place(); R(0x58) = {PARTIAL | NO_BIAS | PRELOAD}; R(0) = 0", "gives ITA a job whose result is not due"),
        (SINGLE.format(flow=RESULT | PRELOAD), "gives ITA a bias where none is added"),
        (f"place(); R(0x54) = 0; R(0x58) = {PRELOAD | PER_ROW}; R(0) = 0", "gives ITA a bias where none is added"),
        (f"place(); R(0x58) = {NO_BIAS}; R(0) = 0", "gives ITA a job without its first weights"),
        (
            f"{SINGLE.format(flow=NO_BIAS | PRELOAD | NEXT)}; {SINGLE.format(flow=NO_BIAS)}",
            "gives ITA a job without its first weights",
        ),
        ("place(); R(0x54) = 6; R(0x5c) = 0; R(0) = 0", "gives ITA constants of GELU whose products"),
        ("place(); R(0x54) = 6; R(0x5c) = 0x80008000; R(0) = 0", "gives ITA constants of GELU whose products"),
        ("R(0x14) = 0; R(0x20) = 0", "writes to ITA while it is being cleared"),
        ("(void)R(0)", "reads a register that can only be written"),
        ("R(4) = 0", "writes a register that can only be read"),
        ("VIEW(0) = 0", "writes a register that can only be read"),
        ("job(); *(volatile unsigned *)0x10000000 = 1", "touches what a device's job is at work on"),
        ("job(); (void)*(volatile unsigned *)0x10002ffc", "touches what a device's job is at work on"),
        ("*(volatile unsigned char *)0x10040020 = 1", "accesses a register of a device with less than 32 bits"),
    ],
)
def test_misuse(source: str, found: str) -> None:
    error = error_of(source)
    assert error.what.startswith(found)
    assert error.where.startswith("cluster 0, cycle ")
    assert "in main" in error.where


def test_a_program_must_not_end_before_its_jobs() -> None:
    with Simulator(ITA_BENCH) as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_bench("ita_registers.c", "-DDO=job()"))
        with pytest.raises(CompileError, match="ends the program while a device is at work"):
            simulator.run(100_000)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "place(); R(0x20) = 0x10000000; R(0) = 0",
            "a device reads 4096 bytes at 0x20000000, where there is no memory",
        ),
        ("place(); R(0x30) = 0x1f080; R(0) = 0", "a device writes 4096 bytes at 0x1001f080, where there is no memory"),
    ],
)
def test_pointers_out_of_the_memory_stop_the_run(source: str, found: str) -> None:
    """Also when nobody has asked for checks."""
    with Simulator(ITA_BENCH) as simulator:
        simulator.load(built_for_bench("ita_registers.c", f"-DDO={source}"))
        with pytest.raises(CompileError) as caught:
            simulator.run(100_000)
    assert caught.value.what == found
    assert "in main" in caught.value.where


def test_reading_what_a_job_reads_is_no_misuse() -> None:
    source = (
        f"job(); (void)*(volatile unsigned *)0x10000000; drain(); {SINGLE.format(flow=NO_BIAS | PRELOAD | NEXT)}; "
        + (f"place(); R(0x24) = 0; R(0x54) = 3; R(0x58) = {NO_BIAS}; R(0) = 0")
    )
    with Simulator(ITA_BENCH) as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_bench("ita_registers.c", f"-DDO={source}; drain()"))
        assert simulator.run(100_000).exit_code == 0
