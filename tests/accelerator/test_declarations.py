"""Everything that may be wrong with a declaration is one clear error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.accelerator.folders import ARRAY, QVANILLA, changed
from tilewright.accelerator import Accelerator, Condition, Event, Pattern, Poll, Register, registers
from tilewright.accelerator.check_declaration import check_declaration
from tilewright.accelerator.figures import area_of
from tilewright.accelerator.folder import read_folder
from tilewright.errors import CompileError

pytestmark = pytest.mark.fast

CONV = Pattern("conv", "Conv", types={"X": "int8"}, writes={"input": "X", "output": "Y", "channels": "c"})
GOOD = Accelerator(
    "unit", "a unit", registers("input output channels start:w done:r"), (CONV,), start="start", done=Poll("done")
)


def complaint(accelerator: Accelerator) -> str:
    with pytest.raises(CompileError) as error:
        check_declaration(accelerator, "here")
    return str(error.value)


def with_pattern(**fields: object) -> Accelerator:
    return replace(GOOD, patterns=(replace(CONV, **fields),))  # type: ignore[arg-type]


def test_a_good_one_is_accepted() -> None:
    check_declaration(GOOD, "here")


def test_registers_that_overlap() -> None:
    wrong = (*GOOD.registers, Register("more", 6 + 4))
    assert "register 'more' is at 0xa" in complaint(replace(GOOD, registers=wrong))
    wrong = (*GOOD.registers, Register("more", 8))
    assert "registers 'channels' and 'more' overlap at 0x8" in complaint(replace(GOOD, registers=wrong))


def test_an_unknown_operand() -> None:
    assert "pattern 'conv': Conv has no operand 'V'" in complaint(with_pattern(types={"V": "int8"}))
    assert "Conv has no loop, operand or number 'Z'" in complaint(with_pattern(writes={**CONV.writes, "channels": "Z"}))
    assert "is 'mul' meant?" in complaint(with_pattern(writes={**CONV.writes, "channels": "mull"}))


def test_a_condition_on_a_loop_that_the_operator_has_not() -> None:
    said = complaint(with_pattern(conditions=(Condition("few columns", "k < 4"),)))
    assert "condition 'few columns': Conv has no loop, operand or number 'k'" in said
    assert "Conv has no loop 'm'" in complaint(with_pattern(limits={"m": 4}))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (with_pattern(op="Convolution"), "there is no operator 'Convolution'\n  hint: `tilewright ops` lists them"),
        (with_pattern(op="Gemm"), "Gemm is replaced by other operators before accelerators are considered"),
        (
            with_pattern(limits={"n": "x"}),
            "patterns[conv].limits is {'n': 'x'}\n  hint: it should be a mapping from str",
        ),
        (replace(GOOD, start=3), "start is 3\n  hint: it should be str"),  # type: ignore[arg-type]
        (with_pattern(types={"X": "int9"}), "X has unknown type 'int9'"),
        (with_pattern(writes={"input": "X"}), "no register gets the address of a result (Y)"),
        (with_pattern(writes={**CONV.writes, "start": "1"}), "register 'start' starts the job"),
        (with_pattern(writes={**CONV.writes, "done": "1"}), "writes: register 'done' has access 'r'"),
        (with_pattern(writes={**CONV.writes, "inptu": "X"}), "there is no register 'inptu'\n  hint: is 'input' meant?"),
        (with_pattern(cycles="f.c"), "'f.c' in 'f.c' is no arithmetic"),
        (with_pattern(chain=("bias",)), "'bias' cannot be part of a chain"),
        (with_pattern(layout="NCHW"), "layout 'NCHW' is unknown\n  hint: 'channels first' or 'channels last'"),
        (with_pattern(required=("X",)), "'X' is always there"),
        (replace(GOOD, least_cycles_per_mac="1 / siez"), "least_cycles_per_mac: there is no parameter 'siez'"),
        (replace(GOOD, area="siez * 2"), "area: there is no parameter 'siez'"),
        (replace(GOOD, start="go"), "start: there is no register 'go'"),
        (replace(GOOD, done=Poll("start")), "done: register 'start' has access 'w'"),
        (replace(GOOD, done=Event("done", line=9)), "event line 9 is not a device's"),
        (replace(GOOD, name="My Unit"), "'My Unit' is not a C name"),
        (replace(GOOD, patterns=()), "has no pattern"),
        (replace(GOOD, patterns=(CONV, CONV)), "pattern 'conv' is declared twice"),
    ],
)
def test_faults(wrong: Accelerator, said: str) -> None:
    assert said in complaint(wrong)


def test_sums_are_not_cut() -> None:
    assert "layers would be cut along loop 'c', which is summed over" in complaint(with_pattern(cuts=("y", "c")))


def test_all_faults_at_once() -> None:
    said = complaint(replace(GOOD, start="go", done=Poll("gone")))
    assert "no register 'go'" in said
    assert "no register 'gone'" in said


def test_parameters_from_outside() -> None:
    assert read_folder(f"{QVANILLA}:cycles_per_mac=0").accelerator.parameters["cycles_per_mac"] == 0
    with pytest.raises(CompileError, match="has no parameter 'speed'\n  hint: it has cycles_per_mac"):
        read_folder(f"{QVANILLA}:speed=1")
    with pytest.raises(CompileError, match="'cycles_per_mac=fast' is not NAME=NUMBER"):
        read_folder(f"{QVANILLA}:cycles_per_mac=fast")
    with pytest.raises(CompileError, match="rtl is 2, neither 1"):
        read_folder(f"{QVANILLA}:rtl=2")


def test_the_declared_area_follows_its_parameters() -> None:
    assert area_of(f"{ARRAY}:size=8") == 64
    assert area_of(str(QVANILLA)) is None


def test_parameters_are_numbers_in_any_form() -> None:
    for text, value in (("1e3", 1000), ("0x10", 16), ("0.5", 0.5)):
        assert read_folder(f"{QVANILLA}:cycles_per_mac={text}").accelerator.parameters["cycles_per_mac"] == value
    with pytest.raises(CompileError, match="'cycles_per_mac=inf' is not NAME=NUMBER"):
        read_folder(f"{QVANILLA}:cycles_per_mac=inf")


@pytest.mark.parametrize("op", ["Softmax", "Gather", "Sub", "AveragePool"])
def test_names_of_operators_without_random_layers_are_checked_too(op: str) -> None:
    pattern = Pattern("any", op, writes={"output": "Y"}, conditions=(Condition("some", "elements > 0"),))
    check_declaration(replace(GOOD, patterns=(pattern,)), "here")
    said = complaint(replace(GOOD, patterns=(replace(pattern, conditions=(Condition("some", "elemnts > 0"),)),)))
    assert f"condition 'some': {op} has no loop, operand or number 'elemnts'" in said


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="is not a folder"):
        read_folder(str(tmp_path / "nowhere"))
    with pytest.raises(CompileError, match=r"has no accelerator\.py"):
        read_folder(str(tmp_path))
    (tmp_path / "accelerator.py").write_text("ACCELERATOR = 3\n")
    with pytest.raises(CompileError, match="does not define ACCELERATOR"):
        read_folder(str(tmp_path))


def test_a_fault_in_its_python_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "accelerator.py").write_text("x = 1\ny = x / 0\n")
    with pytest.raises(CompileError, match=r"accelerator.py:2: ZeroDivisionError: division by zero"):
        read_folder(str(tmp_path))
    (tmp_path / "accelerator.py").write_text("x = 1\ny = = 2\n")
    with pytest.raises(CompileError, match=r"accelerator.py:2: is not valid Python: invalid syntax: y = = 2"):
        read_folder(str(tmp_path))


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    folder = Path(changed(QVANILLA, tmp_path, "accelerator.py"))
    (folder / "device.py").unlink()
    with pytest.raises(CompileError, match=r"has no model: neither device\.py nor device\.c"):
        read_folder(str(folder))
