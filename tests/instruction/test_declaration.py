"""What a declaration may say: each fault is one error that names the field and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.instruction.folders import DOT4, POPCOUNT, REQUANT, written
from tilewright import targets
from tilewright.errors import CompileError
from tilewright.instruction.attach import with_instructions
from tilewright.instruction.declaration import OPCODES, read_instruction
from tilewright.instruction.semantics import check_semantics, simulated

UNDEFINED = {
    "a shift by an operand": "rs1.s32 << rs2.u32",
    "a shift of a negative number": "rs1.s32 << 3",
    "a sum of words": "rs1.s32 + rs2.s32",
    "a product of words": "rs1.s32 * rs2.s32",
    "a quotient": "rs1.s32 / rs2.s32",
    "a byte that is none": "rs1.u8[rs2.u32 & 7]",
}


@pytest.mark.fast
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": '"Twice"'}, "'Twice' is not of lower-case letters"),
        ({"opcode": '"op"'}, "'op' is not in a custom opcode space"),
        ({"opcode": "[1]"}, "[1] is not in a custom opcode space"),
        ({"opcode": "0x33"}, "0x33 is not in a custom opcode space"),
        ({"funct3": "8"}, "8 is no whole number of 0 to 7"),
        ({"funct7": "true"}, "True is no whole number of 0 to 127"),
        ({"latency": "0"}, "0 is no whole number of 1 to 255"),
        ({"operands": '["rs1"]'}, "['rs1'] is no form of operands"),
        ({"operands": '"rd rs1"'}, "'rd rs1' is no form of operands"),
        ({"operands": '["rd", "rs1", "imm12"]', "funct7": "1"}, "an immediate of 12 bits lies in its place"),
        ({"semantics": '"rs1.u32; abort()"'}, "';' is in no expression"),
        ({"semantics": '"(abort(), rs1.u32)"'}, "'abort' is nothing that an expression has"),
        ({"semantics": '"__builtin_abort(), 0"'}, "'__builtin_abort' is nothing that an expression has"),
        ({"semantics": '"*(uint32_t * )(uint64_t)rs1.u32"'}, "'* )' is in no expression"),
        ({"semantics": '" "'}, "it is empty"),
        ({"semantics": ""}, "has no 'semantics'"),
        ({"semantic": '"rs1.u32"'}, "'semantic' is no field of an instruction"),
        ({"implements": '"dot4"'}, "'dot4' is no pattern of the kernels"),
        ({"implements": '"dot4_s8"'}, "dot4_s8 has the operands rd+ rs1 rs2, the instruction rd rs1"),
        ({"rtl": '"twice.v"'}, "twice.v is no file of the folder"),
        ({"top": r'"twice\n!touch found"'}, r"'twice\n!touch found' is no name of a module"),
    ],
    ids=str,
)
def test_faults(tmp_path: Path, fields: dict[str, str], said: str) -> None:
    with pytest.raises(CompileError) as found:
        read_instruction(written(tmp_path, **fields))
    assert said in str(found.value)


@pytest.mark.fast
def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"has no instruction\.toml\n  hint: .*instruction new"):
        read_instruction(str(tmp_path))
    for text, said in (
        ("name = ", "is not TOML"), (f"name = {'[' * 5000}{']' * 5000}", "its lists are too deep"),
        (f"name = {'9' * 5000}", "is not TOML: Exceeds the limit"),
    ):  # fmt: skip
        (tmp_path / "instruction.toml").write_text(text)
        with pytest.raises(CompileError, match=said):
            read_instruction(str(tmp_path))


@pytest.mark.fast
def test_words() -> None:
    one = read_instruction(DOT4)
    assert (one.mask, one.match) == (0xFE00707F, OPCODES["custom-0"])
    assert simulated(one).reads == 3


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("semantics", UNDEFINED.values(), ids=UNDEFINED)
def test_undefined_semantics_are_refused(tmp_path: Path, semantics: str) -> None:
    place = written(tmp_path, operands='["rd", "rs1", "rs2"]', semantics=f'"{semantics}"')
    with pytest.raises(CompileError, match=r"has no defined value for rs1 = 0x[0-9a-f]+, rs2 = 0x"):
        check_semantics(read_instruction(place))


def test_semantics_that_are_no_c(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"is no C expression of its operands: .*rs2"):
        check_semantics(read_instruction(written(tmp_path, semantics='"rs1.u32 + rs2.u32"')))


def test_another_function_than_its_pattern(tmp_path: Path) -> None:
    place = written(
        tmp_path, operands='["rd+", "rs1", "rs2"]', implements='"dot4_s8"',
        semantics='"rd.u32 + (uint32_t)(rs1.s8[0] * rs2.s8[0])"',
    )  # fmt: skip
    with pytest.raises(CompileError, match=r"is not dot4_s8: for rd = 0x.*, rs1 = 0x.*the pattern 0x"):
        check_semantics(read_instruction(place))


def test_examples_are_their_patterns() -> None:
    for place in (DOT4, REQUANT, POPCOUNT):
        check_semantics(read_instruction(place))


def test_encodings_of_others(tmp_path: Path) -> None:
    rv32, own = targets.find("rv32"), written(tmp_path / "own", opcode='"custom-0"', operands='["rd", "rs1", "rs2"]')
    with pytest.raises(CompileError, match=r"custom-0 with funct3 0 and funct7 0 is also instruction dot4 \("):
        with_instructions(rv32, [DOT4, own])
    with pytest.raises(CompileError, match="of siracusa's cores\n  hint: choose another funct3"):
        with_instructions(targets.find("siracusa"), [DOT4])
    other = Path(DOT4, "instruction.toml").read_text().replace("funct7 = 0", "funct7 = 5")
    (tmp_path / "instruction.toml").write_text(other.replace('"dot4"', '"other"').replace('rtl = "dot4.v"', ""))
    with pytest.raises(CompileError, match="dot4 implements dot4_s8 too"):
        with_instructions(rv32, [DOT4, str(tmp_path)])


@pytest.mark.fast
@pytest.mark.parametrize("target", ["generic", "mempool", "cortex-m4"])
def test_targets_without_such_cores(target: str) -> None:
    with pytest.raises(CompileError, match=f"target {target}: has no core that instructions could be added to"):
        with_instructions(targets.find(target), [DOT4])
