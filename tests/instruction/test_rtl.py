"""Verilog of instructions: compared with their semantics, and what is wrong with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.instruction.folders import DOT4, REQUANT, written
from tilewright.accelerator.area import find_yosys
from tilewright.errors import CompileError
from tilewright.instruction import rtl
from tilewright.instruction.area import area_of_instruction
from tilewright.instruction.declaration import read_instruction
from tilewright.instruction.rtl import check_rtl
from tilewright.sim.rtl.ports import Port
from tilewright.sim.rtl.sources import reads_data

has_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="verilator is not installed")
SHIFT = """\
module twice (input wire clk, input wire [31:0] rs1, input wire [4:0] imm, output reg [31:0] result);
  reg [31:0] first;
  always @(posedge clk) begin
    first <= rs1 >> imm;
    result <= first;
  end
endmodule
"""


def with_verilog(folder: Path, text: str, **fields: str) -> str:
    place = written(folder, rtl='"own.v"', **fields)
    (folder / "own.v").write_text(text)
    return place


@pytest.mark.in_turns(3)
@has_verilator
def test_the_example_is_what_it_says() -> None:
    assert check_rtl(read_instruction(DOT4))


@pytest.mark.thorough
@has_verilator
def test_verilog_with_a_clock_takes_its_latency(tmp_path: Path) -> None:
    fields = {"operands": '["rd", "rs1", "imm5"]', "semantics": '"rs1.u32 >> imm"'}
    assert check_rtl(read_instruction(with_verilog(tmp_path / "two", SHIFT, latency="2", **fields)))
    early = read_instruction(with_verilog(tmp_path / "one", SHIFT, latency="1", **fields))
    with pytest.raises(CompileError, match=r"own.v gives 0x.* for rs1 = 0x.*, imm = 0x.*, the semantics 0x"):
        check_rtl(early)


@pytest.mark.thorough
@has_verilator
def test_a_table_lies_beside_its_verilog(tmp_path: Path) -> None:
    """Its name is a parameter's."""
    text = 'module twice #(parameter TABLE = "two.hex") (input wire [31:0] rs1, output wire [31:0] result);\n'
    text += "  reg [31:0] factor[0:0];\n  initial $readmemh(TABLE, factor);\n  assign result = rs1 * factor[0];\n"
    place = with_verilog(tmp_path, f"{text}endmodule\n")
    (tmp_path / "two.hex").write_text("2\n")
    assert check_rtl(read_instruction(place))


@pytest.mark.fast
def test_data_that_is_not_there_is_missed_by_its_name(tmp_path: Path) -> None:
    source, other = tmp_path / "own.v", tmp_path / "others.vh"
    source.write_text("// $readmemh(a, b)\n")
    assert not reads_data([source], "own.v")
    other.write_text('initial $readmemh("none.hex", b);\n')
    assert reads_data([source], "own.v")
    source.write_text("initial $readmemb (NAME, b);\n")
    assert reads_data([source], "own.v")
    source.write_text('initial $readmemh("none.hex", b);\n')
    with pytest.raises(CompileError, match=r"names none\.hex, which is no file"):
        reads_data([source], "own.v")


@pytest.mark.thorough
@has_verilator
def test_a_rare_difference_is_found(tmp_path: Path) -> None:
    text = "module twice (input wire [31:0] rs1, output wire [31:0] result);\n"
    text += "  assign result = rs1 == 32'h7fffffff ? 32'd0 : rs1 + rs1;\nendmodule\n"
    with pytest.raises(CompileError, match="for rs1 = 0x7fffffff, the semantics 0xfffffffe"):
        check_rtl(read_instruction(with_verilog(tmp_path, text)))


@pytest.mark.fast
def test_ports_that_are_missing_or_of_another_width() -> None:
    ports = {
        "rs1": Port("input", 32),
        "rs2": Port("input", 16),
        "enable": Port("input", 1),
        "result": Port("output", 32),
    }
    with pytest.raises(CompileError) as error:
        rtl._checked(read_instruction(DOT4), ports)
    said = str(error.value)
    assert "module dot4: input rd of 32 bits is missing; rs2 is an input of 16 bits, not an input of 32; " in said
    assert "port enable is not known" in said


@pytest.mark.fast
def test_without_verilator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not check_rtl(read_instruction(DOT4))


@pytest.mark.thorough
@pytest.mark.skipif(find_yosys() is None, reason="yosys is not installed")
def test_four_multipliers_of_bytes_are_some_thousand_gates() -> None:
    found = area_of_instruction(DOT4)
    assert found is not None
    assert 1000 < found < 10000


@pytest.mark.fast
def test_without_verilog_or_yosys_there_is_no_area(monkeypatch: pytest.MonkeyPatch) -> None:
    assert area_of_instruction(REQUANT) is None
    monkeypatch.setattr("tilewright.instruction.area.find_yosys", lambda: None)
    assert area_of_instruction(DOT4) is None
