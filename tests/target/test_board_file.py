"""Boards as files: what they say, what is refused, and what a target on one is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright import targets
from tilewright.codegen.memory_regions import memory_regions
from tilewright.errors import CompileError
from tilewright.target.board import adapted
from tilewright.target.board_file import read_board
from tilewright.target.memory import ARENA
from tilewright.target.settings import Settings

pytestmark = pytest.mark.fast

HEAD = 'cpu = "cortex-m4"\nclock_mhz = 80\n'
FLASH = '[[memory]]\nname = "flash"\nbase = 0x0800_0000\nkib = 1024\nwait_states = 4\nholds = ["code", "constants"]\n'
RAM = '[[memory]]\nname = "SRAM1"\nbase = 0x2000_0000\nkib = 96\nholds = ["arena", "stack"]\n'
MORE = '[[memory]]\nname = "SRAM2"\nbase = {base:#x}\nkib = 32\nholds = ["arena", "stack"]\n'
GOOD = HEAD + FLASH + RAM


def written(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text)
    return str(folder / "mine.toml")


def test_every_board_is_read_and_says_where_its_numbers_are_from() -> None:
    found = targets.boards()
    assert len(found) >= 15
    assert all(board.sources and board.uncertain for board in found)


@pytest.mark.parametrize("name", [board.name for board in targets.boards() if board.cpu in targets.names()])
def test_every_board_has_a_target(name: str) -> None:
    target = targets.find(name)
    assert target.runner.clock_mhz
    assert target.name == name
    assert "REGION_ALIAS" in memory_regions(adapted(target, Settings()))


def test_wait_states_reach_the_platform() -> None:
    flash = targets.find("nucleo-l4r5zi").platform.memory("flash")
    assert flash.latency == {"cortex-m4": 5}
    assert flash.port.data_cache_bytes == 256


def test_memories_that_adjoin_are_one(tmp_path: Path) -> None:
    apart = targets.find(written(tmp_path, GOOD + MORE.format(base=0x2002_0000)))
    assert [(memory.name, memory.bytes) for memory in apart.memories if ARENA in memory.holds] == [
        ("SRAM1", 96 * 1024), ("SRAM2", 32 * 1024),
    ]  # fmt: skip
    together = targets.find(written(tmp_path, GOOD + MORE.format(base=0x2001_8000)))
    (ram,) = [memory for memory in together.memories if ARENA in memory.holds]
    assert (ram.name, ram.bytes, ram.banks) == ("RAM", 128 * 1024, ("sram1", "sram2"))
    assert "ORIGIN = 0x20000000, LENGTH = 0x20000" in memory_regions(together)


def test_ram_of_several_memories_is_the_first_that_has_so_much() -> None:
    board = targets.find("nucleo-h7a3zi")
    for size, name in ((100_000, "DTCM"), (200_000, "AXI1_AXI2_AXI3")):
        found = adapted(board, Settings(memories=(("ram", size),)))
        (ram,) = [memory for memory in found.memories if ARENA in memory.holds]
        assert (ram.name, ram.bytes) == (name, size)
    with pytest.raises(CompileError, match="nucleo-h7a3zi may have 1 to 1048576 bytes of it"):
        adapted(board, Settings(memories=(("ram", 2_000_000),)))


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (GOOD + "speed = 4", "memory SRAM1, speed", "is unknown"),
        ("volt = 3\n" + GOOD, "volt", "is unknown"),
        (GOOD.replace('"cortex-m4"', '"cortex-m5"'), "cpu", "'cortex-m5' is unknown"),
        (FLASH + RAM, "cpu", "is missing"),
        (GOOD.replace("clock_mhz = 80", "clock_mhz = 0"), "clock_mhz", "0 is not allowed"),
        (GOOD.replace("wait_states = 4", "wait_states = -1"), "memory flash, wait_states", "-1 is not allowed"),
        (GOOD.replace("wait_states = 4", "line_bytes = 3"), "memory flash, line_bytes", "3 is not a power of two"),
        (GOOD.replace("wait_states = 4", "line_bytes = 2"), "memory flash, line_bytes", "of at least 4"),
        (GOOD.replace("kib = 96", 'kib = "96"'), "memory SRAM1, kib", "'96' is not allowed"),
        (GOOD.replace("kib = 96", "kib = true"), "memory SRAM1, kib", "True is not allowed"),
        (GOOD.replace("kib = 96", "kib = 97"), "memory SRAM1, base and kib", "is not made of whole pages"),
        (GOOD.replace('"SRAM1"', '"Flash"'), "memory flash", "is declared twice"),
        (GOOD.replace('"SRAM1"', '"a b"'), "memory a b, name", "'a b' is not a name"),
        (GOOD + MORE.format(base=0x2001_0000), "memory SRAM2, base", "lies at 0x20010000, inside SRAM1"),
        (GOOD.replace("0x2000_0000", "0xdfff_f000"), "memory SRAM1, kib", "among the core's own registers"),
        (HEAD + RAM, "memory", "there is none that holds code"),
        (HEAD + FLASH, "memory", "there is none that holds both arena and stack"),
        (GOOD.replace('"stack"', '"heap"'), "memory SRAM1, holds", "is not allowed"),
        (HEAD, "memory", "is not a list of memories"),
        (GOOD.replace('["arena", "stack"]', '"stack"'), "memory SRAM1, holds", "'stack' is not allowed"),
        ("cpu = ", "", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, field: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CompileError) as caught:
        targets.find(path)
    assert f"{path}, {field}: " in str(caught.value) if field else caught.value.where == path
    assert message in str(caught.value)
    assert caught.value.hint


def test_limits_are_written_in_full(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        targets.find(written(tmp_path, GOOD.replace("kib = 96", "kib = 0")))
    assert caught.value.hint == "a whole number, 4 to 4,194,304"


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        read_board(Path(written(tmp_path, GOOD.replace("kib = 96", "kib = 0").replace("= 80", "= '80'"))))
    assert str(caught.value).count("is not allowed") == 2


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(CompileError, match="cannot be read"):
        targets.find("nowhere.toml")
