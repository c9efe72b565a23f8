"""Areas of devices in Verilog: what yosys counts, and what is said where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.accelerator import area
from tilewright.accelerator.area import Fpga, rtl_area
from tilewright.accelerator.figures import area_of
from tilewright.bringup.skeleton import new_folder
from tilewright.errors import CompileError

has_yosys = pytest.mark.skipif(area.find_yosys() is None, reason="yosys is not installed")

SMALL = """\
module little #(parameter WIDTH = 8) (input wire clk, input wire [WIDTH-1:0] a, output reg [WIDTH-1:0] q);
  always @(posedge clk) q <= q + a;
endmodule
"""

KINDS = (r"SB_LUT4", r"SB_DFF\w*", r"SB_MAC16", r"SB_RAM\w*")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An adder behind the declaration of another device."""
    new_folder("little", tmp_path / "little", in_verilog=True)
    declaration = tmp_path / "little" / "accelerator.py"
    declaration.write_text(declaration.read_text().replace("done=Poll", 'parameters={"width": 8},\n    done=Poll'))
    (tmp_path / "little" / "device.v").write_text(SMALL)
    return tmp_path / "little"


@pytest.mark.thorough
@has_yosys
def test_area_follows_parameters(small: Path) -> None:
    found = {width: rtl_area(f"{small}:width={width}") for width in (8, 16)}
    assert [one.flip_flops for one in found.values()] == [8, 16]
    assert [one.ice40.flip_flops for one in found.values()] == [8, 16]
    assert [one.xilinx.flip_flops for one in found.values()] == [8, 16]
    assert found[16].gate_equivalents > 1.7 * found[8].gate_equivalents
    assert found[8].ice40.luts > 0
    assert area_of(f"{small}:width=16") == found[16].gate_equivalents


@pytest.mark.thorough
@has_yosys
def test_modules_of_other_folders_and_their_parameters(small: Path) -> None:
    """Those of the device's own module are set, and no others; data are found beside the first file."""
    (small / "of others").mkdir()
    other = SMALL.replace("little", "adder").replace("WIDTH", "DEPTH")
    (small / "of others" / "an adder.v").write_text(other)
    (small / "device.v").write_text(
        "module little #(parameter [7:0] FIRST = {4'd0, 4'd1}, parameter WIDTH = 8) "
        "(input wire clk, input wire [WIDTH-1:0] a, output wire [WIDTH-1:0] q);\n"
        '  reg [WIDTH-1:0] rom[0:1];\n  initial $readmemh("rom.hex", rom);\n'
        "  adder #(.DEPTH(WIDTH)) one (.clk(clk), .a(a ^ rom[a[0]]), .q(q));\nendmodule\n"
    )
    (small / "rom.hex").write_text("1\n2\n")
    declaration = small / "accelerator.py"
    text = declaration.read_text().replace("import Accelerator,", "import Accelerator, Rtl,")
    text = text.replace('{"width": 8}', '{"width": 8, "depth": 3}')
    declaration.write_text(
        text.replace("done=Poll", 'rtl=Rtl(files=("device.v", "of others/an adder.v")),\n    done=Poll')
    )
    assert rtl_area(f"{small}:width=12").flip_flops == 12
    (small / "rom.hex").unlink()
    with pytest.raises(CompileError, match=r"names rom\.hex, which is no file"):
        rtl_area(str(small))


@has_yosys
def test_gates_alone_are_counted_quickly(small: Path) -> None:
    narrow, wide = (area_of(f"{small}:width={width}") for width in (2, 4))
    assert narrow is not None
    assert wide is not None
    assert 12 < narrow < wide < 100


@has_yosys
def test_what_yosys_refuses(small: Path) -> None:
    (small / "device.v").write_text(SMALL.replace("q + a;", "q + ;"))
    with pytest.raises(CompileError, match="yosys refuses it"):
        rtl_area(str(small))


@pytest.mark.fast
def test_what_is_missing(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_folder("plain", tmp_path / "plain")
    with pytest.raises(CompileError, match="has no Verilog to synthesise"):
        rtl_area(str(tmp_path / "plain"))
    assert area_of(str(tmp_path / "plain")) is None
    monkeypatch.setattr(area, "find_yosys", lambda: None)
    with pytest.raises(CompileError, match="is not installed"):
        rtl_area(str(small))
    assert area_of(str(small)) is None


@pytest.mark.fast
@pytest.mark.parametrize("text", ["   Number of cells:  5\n     SB_LUT4   3\n", "      5 cells\n      3   SB_LUT4\n"])
def test_counts_of_old_and_new_versions(text: str) -> None:
    assert area._counted(text) == {"SB_LUT4": 3}
    assert area._fpga({"SB_LUT4": 3, "SB_DFFE": 2}, *KINDS) == Fpga(3, 2, 0, 0)
