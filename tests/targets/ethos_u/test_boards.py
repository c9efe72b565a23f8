"""Boards with an NPU: which there are, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright
from tests.emulator.test_qemu import needs_qemu
from tests.support.example_networks import keyword_spotting
from tilewright import pipeline, targets
from tilewright.analysis.ranking import ranked
from tilewright.errors import CompileError
from tilewright.target.memory import ARENA, STACK, holding
from tilewright.target.settings import Settings
from tilewright.targets import named_or_board

REASON = "pip install 'tilewright[ethos-u]'"
BOARDS = {
    "alif-e7": "u55-256", "alif-e7+u55-128": "u55-128", "himax-we2": "u55-64", "psoc-edge-e84": "u55-128",
    "imx93-m33": "u65-256", "mps3-an547+u55-128": "u55-128",
}  # fmt: skip


@pytest.mark.parametrize(("name", "npu"), BOARDS.items(), ids=list(BOARDS))
def test_a_board_has_its_npu(name: str, npu: str) -> None:
    target = targets.find(name)
    assert target.name == name
    assert f"with ethos-{npu}" in target.summary
    assert target.engines[0].name == "npu"
    (base,) = [one.base for one in target.platform.devices if one.name == "ethos-u"]
    assert f"-DTW_ETHOS_U_BASE={base:#x}u" in target.flags


def test_a_board_without_its_npu_is_the_core_alone() -> None:
    assert [engine.name for engine in targets.find("mps3-an547").engines] == ["cpu"]


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("alif-e7+u55-64", "board 'alif-e7': has no NPU u55-64", "it has u55-256, u55-128"),
        ("nrf52840dk+u55-128", "board 'nrf52840dk': has no NPU u55-128", "use the board alone"),
        ("alif-e8+u55-128", "target 'alif-e8': is unknown", "known targets"),
    ],
)
def test_npus_that_a_board_does_not_have(name: str, said: str, hint: str) -> None:
    with pytest.raises(CompileError, match=said) as raised:
        targets.find(name)
    assert hint in raised.value.hint


def test_the_core_of_a_board_is_not_the_one_that_stands_in_for_it() -> None:
    assert named_or_board("cortex-m55", "alif-e7+u55-128") == "alif-e7+u55-128"
    with pytest.raises(CompileError, match="contradicts --board alif-e7, whose core is cortex-m55"):
        named_or_board("cortex-m33", "alif-e7")


def test_a_file_that_names_another_npu_than_it_has(tmp_path: Path) -> None:
    text = (Path(targets.__file__).parent / "cortex_m/boards/alif-e7.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace('npu = "u55-256"', 'npu = "u55-32"'))
    with pytest.raises(CompileError, match="npu: 'u55-32' is not among its npus"):
        targets.find(str(tmp_path / "mine.toml"))


def test_memories_that_the_npu_does_not_reach_have_code_alone() -> None:
    alone, beside = (targets.find(name) for name in ("mps3-an547", "mps3-an547+u55-128"))
    assert [memory.name for memory in holding(alone.memories, ARENA)][:1] == ["DTCM"]
    assert "DTCM" not in [memory.name for memory in beside.memories]
    assert holding(beside.memories, STACK)[0].name == "ISRAM1_ISRAM2"


def test_an_npu_that_reaches_too_little(tmp_path: Path) -> None:
    text = (Path(targets.__file__).parent / "cortex_m/boards/psoc-edge-e84.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace('name = "SOCMEM"', 'name = "SOCMEM"\nnpu = false'))
    with pytest.raises(CompileError) as error:
        targets.find(str(tmp_path / "mine.toml"))
    assert "board 'mine': its NPU reaches no memory that holds the arena and the stack" in str(error.value)
    assert "say npu = false only of memories that it does not reach" in str(error.value)


# ---- with Vela ------------------------------------------------------------------------------------------------------


@pytest.mark.in_turns(5)
def test_a_part_that_ram_does_not_hold() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    with pytest.raises(CompileError, match=r"SRAM0 of 20000 bytes: \d+ bytes are needed .*\n.*EthosU"):
        tilewright.compile(keyword_spotting(), target="alif-e7", memories=(("ram", 20000),))


@needs_qemu
def test_a_board_runs_a_network() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    made = tilewright.compile(keyword_spotting(), target="himax-we2")
    given = made.random_inputs()
    run, wanted = made.run(given), made.reference(given)
    assert all(np.array_equal(values, wanted[name]) for name, values in run.outputs.items())


@pytest.mark.in_turns(5)
def test_boards_are_ranked_with_others() -> None:
    """A model is read for each of them as its compiler makes it."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    model = keyword_spotting()
    names = ["nrf52840dk", "himax-we2"]
    found = ranked(
        pipeline.import_model(model),
        Settings(),
        names,
        lambda name, goal: pipeline.import_model(model, target_name=name, goal=goal),
    )
    assert [one.name for one in found] == ["himax-we2", "nrf52840dk"]
    assert all(one.holds_it and one.milliseconds for one in found)
