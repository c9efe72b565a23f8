"""`tilewright instruction`, as a user has it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.accelerator.test_networks import chain_file
from tests.instruction.folders import DOT4, REQUANT, written
from tests.support.command import Command
from tests.support.models import small
from tilewright.bringup.instruction_trial import Change, Counts, Trial, verdict
from tilewright.cli.instruction import _cells
from tilewright.instruction.declaration import read_instruction
from tilewright.instruction.patterns import PATTERNS


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(small(), path)
    return path


def test_new_is_checked_and_printed(command: Command, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    assert command("instruction", "new", "mine", "-o", place, "--json").json["files"] == [f"{place}/instruction.toml"]
    assert (
        "defined for 400,000 random operands, equal to the pattern dot4_s8"
        in command("instruction", "check", place).out
    )
    assert command("instruction", "check", place, "--json").json["match"] == 0x0B
    text = command("instruction", "header", place, "--json").json["files"]["instructions.h"]
    assert '".insn r 0xb, 0, 0, %0, %1, %2"' in text
    assert command("instruction", "new", "mine", "-o", place).code == 2


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_may_be_begun_with(command: Command, tmp_path: Path, pattern: str) -> None:
    place = tmp_path / "mine"
    assert command("instruction", "new", "mine", "-o", place, "--implements", pattern).code == 0
    assert f"equal to the pattern {pattern}" in command("instruction", "check", place).out


def test_no_such_pattern(command: Command, tmp_path: Path) -> None:
    said = command("instruction", "new", "mine", "-o", tmp_path / "mine", "--implements", "dot4")
    assert said.code == 2
    assert "is no pattern of the kernels" in said.err


def test_a_pattern_that_is_not_there_is_said(command: Command, network: Path) -> None:
    said = command("instruction", "try", REQUANT, network, "--target", "rv32")
    assert said.code == 0
    assert "requant is never used: no layer's kernel on rv32 has the pattern requant_s8" in said.out
    found = command("instruction", "try", REQUANT, network, "--json").json
    assert (found["places"], found["agrees"]) == (0, True)
    assert found["total"]["before"]["cycles"] == found["total"]["after"]["cycles"]


def test_a_run_says_it_too(command: Command, network: Path) -> None:
    """Of a product of bytes, whose totals stay as they are."""
    network.write_bytes(chain_file())
    own = ("run", network, "--target", "rv32", "--instruction", DOT4, "--instruction", REQUANT)
    notes = command(*own, "--json").json["notes"]
    assert [note for note in notes if "never" in note] == [
        "requant is never used: no layer's kernel on rv32 has the pattern requant_s8"
    ]


def test_no_line_implements(command: Command, network: Path, tmp_path: Path) -> None:
    said = command("instruction", "try", written(tmp_path / "own"), network).out
    assert 'twice is never used: it has no line implements = "..."' in said


def test_found(command: Command, network: Path, tmp_path: Path) -> None:
    words = ("instruction", "find", network, "--count", "1", "-o", tmp_path / "own", "--json")
    found = command(*words).json
    assert len(found["files"]) == len(found["proposals"]) == 1
    assert found["networks"]["net"]["after"] < found["networks"]["net"]["before"]
    assert "outputs are equal before and after" in command("instruction", "find", network, "--count", "1").out


def test_compiled_folders_have_the_header(command: Command, network: Path, tmp_path: Path) -> None:
    assert command("compile", network, "--target", "rv32", "--instruction", DOT4, "-o", tmp_path / "out").code == 0


@pytest.mark.fast
@pytest.mark.parametrize(("before", "after", "shown"), [(300, 200, "1.50 x"), (0, 200, "new"), (300, 0, "gone")])
def test_a_layer_that_one_program_lacks_has_no_ratio(before: int, after: int, shown: str) -> None:
    assert shown in _cells(Change("copy", Counts(before), Counts(after), 3))


@pytest.mark.fast
@pytest.mark.parametrize(
    ("after", "places", "said"),
    [
        (200, 3, "dot4 stands in 3 places of the program"),
        (300, 1, "dot4 stands in one place of the program and gains nothing: 300 cycles without it, 300 with it"),
        (300, 0, "dot4 is never used: no layer's kernel on siracusa has the pattern dot4_s8"),
    ],
)
def test_what_gains_nothing_is_said(after: int, places: int, said: str) -> None:
    total = Change("all", Counts(300), Counts(after))
    assert verdict(Trial("siracusa", "net", read_instruction(DOT4), (), total, True, places, None)) == said
