"""What a board's program takes of its memories, and what happens where its stack is too small."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import residual
from tilewright.errors import CompileError, StackOverrun
from tilewright.program import Program, compile_model
from tilewright.target.settings import Settings

BOARDS = ("cortex-m4", "rv32")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    onnx.save(residual(), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def compiled(target: str, **asked: int) -> Program:
    return compile_model(residual(), target=target, settings=Settings(**asked))  # type: ignore[arg-type]


@pytest.mark.parametrize("target", BOARDS)
def test_memories_are_measured(command: Command, small: Path, target: str) -> None:
    found = command("run", small, "--target", target, "--json").json
    assert found["status"] == "agree"
    assert 0 < found["stack_bytes"] < 8192
    assert found["measured_ram_bytes"] >= found["arena_bytes"] + found["io_bytes"] + found["stack_bytes"]
    assert 0 < found["code_bytes"] < found["measured_flash_bytes"]


def test_cycles_say_what_they_are(command: Command, small: Path) -> None:
    found = command("run", small, "--target", "cortex-m7", "--json").json
    assert found["cycles"] < found["cycles_at_most"]
    assert "issued in pairs" in found["estimate"]
    shown = command("run", small, "--target", "cortex-m4").out
    assert "cycles are an estimate: the manual's cycles, no wait states" in shown
    assert "of which the stack took" in shown


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", BOARDS)
def test_the_stack_that_is_used_is_enough_and_less_is_not(target: str) -> None:
    used = compiled(target).check().result.on_board()["stack_bytes"]
    enough = -(-used // 16) * 16 + 16
    assert compiled(target, stack=enough).check().agrees
    less = max(256, used // 2 // 16 * 16)
    if less + 16 <= used:
        with pytest.raises(StackOverrun, match=f"the stack of {less} bytes is too small") as caught:
            compiled(target, stack=less).check()
        assert f"--stack {2 * less}" in caught.value.hint


@pytest.mark.parametrize("size", [0, 100, 1001])
def test_a_stack_of_an_odd_size(size: int) -> None:
    with pytest.raises(CompileError, match=f"--stack {size}"):
        compiled("cortex-m4", stack=size)


def test_only_boards_have_a_stack_to_choose() -> None:
    with pytest.raises(CompileError, match="--stack"):
        compile_model(residual(), settings=Settings(stack=1024))
