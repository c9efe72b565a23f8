"""Devices in Verilog: results as numpy's on every kind of target, and what is wrong with the Verilog."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tilewright as tw
from tests.accelerator.buses import APB_AND_TCDM, AXI_LITE_AND_AXI
from tests.accelerator.folders import EXAMPLES, QVANILLA, changed
from tilewright.accelerator.folder import beside_model, read_folder
from tilewright.bringup.beside_rtl import check_beside_rtl
from tilewright.bringup.check import check_folder, run_jobs
from tilewright.bringup.fit import fit_to_rtl
from tilewright.bringup.skeleton import new_folder
from tilewright.bringup.sources import drivers
from tilewright.errors import CompileError
from tilewright.sim.rtl.build import rtl_library
from tilewright.sim.rtl.ports import Port, interface
from tilewright.sim.rtl.waves import cycles_of, recording

has_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="verilator is not installed")
"""Of tests that read or run Verilog."""
RTL = EXAMPLES / "qvanilla_rtl"


@pytest.fixture
def products(tmp_path: Path) -> Path:
    folder = tmp_path / "products"
    new_folder("products", folder, in_verilog=True)
    return folder


def spoiled(products: Path, old: str, new: str) -> str:
    text = (products / "device.v").read_text()
    assert old in text
    (products / "device.v").write_text(text.replace(old, new))
    return str(products)


def failure(words: str) -> str:
    with pytest.raises(CompileError) as error:
        check_folder(words, "rv32", jobs=1)
    return str(error.value)


@pytest.mark.in_turns(3)
@has_verilator
def test_skeleton(products: Path) -> None:
    assert [found.jobs for found in check_folder(str(products), "rv32", jobs=3)] == [3, 3]


def test_the_register_map_is_that_of_the_declaration(products: Path) -> None:
    path = products / "accelerator.py"
    path.write_text(path.read_text().replace("a b bias", "b a bias"))
    text = drivers(f"{products}:rtl=1", "rv32")["products_registers.vh"]
    assert "localparam REG_B = 0;\nlocalparam REG_A = 4;\nlocalparam REG_BIAS = 8;\n" in text


@pytest.mark.thorough
@has_verilator
@pytest.mark.parametrize("target", ["siracusa", "quad", "snitch"])
def test_skeleton_on_clusters(products: Path, target: str) -> None:
    assert [found.jobs for found in check_folder(str(products), target, jobs=3)] == [3, 3]


@pytest.mark.thorough
@has_verilator
def test_a_slower_clock_takes_longer(products: Path) -> None:
    cycles = []
    for divider in (1, 3):
        words = changed(
            products, products.parent / str(divider), "accelerator.py",
            ("import Accelerator,", "import Accelerator, Rtl,"),
            ('start="start",', f'start="start",\n    rtl=Rtl(clock_divider={divider}),'),
        )  # fmt: skip
        cycles.append(sum(one.busy["products"] for one in run_jobs(words, "rv32", 3, 0).measured))
    assert 2.9 < cycles[1] / cycles[0] < 3.1


@pytest.mark.thorough
@has_verilator
@pytest.mark.parametrize("bus", [APB_AND_TCDM, AXI_LITE_AND_AXI], ids=["apb_tcdm", "axi"])
def test_other_buses(products: Path, bus: str) -> None:
    """The skeleton's engine, whose ports are adapted to others."""
    engine = (products / "device.v").read_text().replace("module products", "module engine")
    (products / "device.v").write_text(f"{engine}\n{bus}")
    assert [found.jobs for found in check_folder(str(products), "rv32", jobs=2)] == [2, 2]


# ---- networks -------------------------------------------------------------------------------------------------------


def product() -> onnx.ModelProto:
    values = np.random.default_rng(0).integers(-128, 128, (16, 8))
    weights = helper.make_tensor("w", TensorProto.INT8, [16, 8], values.astype(np.int8).tobytes(), raw=True)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "product",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [4, 16])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [4, 8])], [weights],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.thorough
@has_verilator
@pytest.mark.parametrize("target", ["rv32", "siracusa", "quad"])
def test_networks_and_their_signals(products: Path, tmp_path: Path, target: str) -> None:
    # Eight cores would be faster: the planner is told otherwise.
    declared = 'cycles="2 * macs + 3 * m * n"'
    words = changed(products, tmp_path / "quick", "accelerator.py", (declared, 'cycles="1"'))
    program = tw.compile(product(), target=target, accelerators=[words])
    with recording(tmp_path / "signals.vcd", range(300, 400)) as few:
        assert program.check().agrees
    times = [int(line[1:]) for line in (tmp_path / "signals.vcd").read_text().splitlines() if line.startswith("#")]
    assert all(3000 <= time < 4000 for time in times)
    with recording(tmp_path / "signals.vcd") as recorded:
        assert program.check().agrees
    assert few == recorded
    assert recorded == {"products": tmp_path / "signals.vcd"}
    assert (tmp_path / "signals.vcd").read_text().count("\n#") > 100


@pytest.mark.thorough
@has_verilator
def test_data_that_verilog_reads_and_files_of_other_folders(products: Path) -> None:
    """A table of bytes in a module of its own."""
    spoiled(
        products,
        "{{24{got[7]}}, got};",
        "{{24{same_byte[7]}}, same_byte};\n  wire [7:0] same_byte;\n  same s(got, same_byte);",
    )
    (products / "of others").mkdir()
    (products / "of others" / "same.v").write_text(
        "module same (input wire [7:0] a, output wire [7:0] q);\n  reg [7:0] table_of[0:255];\n"
        '  initial $readmemh("same.hex", table_of);\n  assign q = table_of[a];\nendmodule\n'
    )
    words = changed(products, products.parent / "both", "accelerator.py",
                    ("import Accelerator,", "import Accelerator, Rtl,"),
                    ("done=Poll", 'rtl=Rtl(files=("device.v", "of others/same.v")),\n    done=Poll'))  # fmt: skip
    assert "names same.hex, which is no file" in failure(words)
    (Path(words) / "same.hex").write_text("".join(f"{value:x}\n" for value in range(256)))
    assert [found.jobs for found in check_folder(words, "rv32", jobs=2)] == [2, 2]


# ---- what goes wrong ------------------------------------------------------------------------------------------------


@has_verilator
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("assign busy = state != IDLE;", "assign busy = state != IDLE", "device.v:35:3: syntax error"),
        ("    reg_rdata = {31'd0, done};\n", "", "a latch"),
        (
            "reg_ready = 1'b1;",
            "reg_ready = w1; wire w1 = w2 ^ reg_valid; wire w2 = w1 & reg_write;",
            "combinational loop",
        ),
        ("module products", "module other", "has no module products; it has other"),
        ("is_last", "inside", "'inside' is a word of SystemVerilog"),
        ("module products", "module small", "'small' is a word of SystemVerilog"),
        ("wire is_value", "wire is_value,, is_other", "verilator's message names file, line and column"),
    ],
    ids=["syntax", "latch", "loop", "name", "word", "strength", "comma"],
)
def test_verilog_that_is_refused(products: Path, old: str, new: str, says: str) -> None:
    device = read_folder(spoiled(products, old, new)).rtl
    assert device
    with pytest.raises(CompileError) as error:
        rtl_library(device)
    assert says in str(error.value)
    assert "device.v" in str(error.value)


PORTS = {
    "clk": Port("input", 1), "reset": Port("input", 1), "busy": Port("output", 1), "reg_valid": Port("input", 1),
    "reg_write": Port("input", 1), "reg_address": Port("input", 8), "reg_wdata": Port("input", 32),
    "reg_rdata": Port("output", 32), "reg_ready": Port("output", 1),
}  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "port", "says"),
    [
        ("busy", None, "output busy is missing"),
        ("reg_wdata", Port("input", 16), "reg_wdata has 16 bits, not 32"),
        ("reg_ready", Port("input", 1), "reg_ready is an input, not an output"),
        ("reg_valid", None, "input reg_valid is missing"),
        ("mem_write", Port("output", 1), "output mem_request is missing; output mem_address is missing"),
        ("extra", Port("input", 1), "port extra is not known"),
        ("reg_address", Port("input", 40), "reg_address has 40 bits, not 2 to 32"),
    ],
)
def test_ports_that_are_missing_or_of_another_width(name: str, port: Port | None, says: str) -> None:
    found = {**PORTS, name: port} if port else {key: one for key, one in PORTS.items() if key != name}
    with pytest.raises(CompileError) as error:
        interface("device", {key: one for key, one in found.items() if one is not None}, "device.v")
    assert says in str(error.value)


@pytest.mark.fast
def test_a_device_without_registers_is_told_which_there_are() -> None:
    few = {name: port for name, port in PORTS.items() if not name.startswith("reg_")}
    with pytest.raises(CompileError, match=r"no port reg_valid \(register bus\), or psel \(APB\), or s_axil_awvalid"):
        interface("device", few, "device.v")


@pytest.mark.thorough
@has_verilator
@pytest.mark.in_turns(8)
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("assign reg_ready = 1'b1;", "assign reg_ready = !reg_valid;", "does not answer; last register access: 0x"),
        (
            "done  <= 1'b1;",
            "done  <= 1'b0;",
            "never says that its job is done; last register access: 0x1 written to start",
        ),
        ("ADD: state <= STORE;", "ADD: state <= ADD;", "0x1 written to start"),
        (
            "mem_address = result_at;",
            "mem_address = 32'hdead0000;",
            "writes 4 bytes at 0xdead0000, where there is no memory",
        ),
        ("mem_address = result_at;", "mem_address = result_at + 1;", "which is not a multiple of that"),
        ("a_value * (got_value", "a_value + (got_value", "elements differ"),
    ],
    ids=["silent", "unfinished", "hangs", "wild", "misaligned", "wrong"],
)
def test_devices_that_do_not_work(products: Path, old: str, new: str, says: str) -> None:
    assert says in failure(spoiled(products, old, new))


@pytest.mark.fast
def test_without_verilator(products: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.sim.rtl import reading

    monkeypatch.setattr(reading.shutil, "which", lambda name: None)
    reading.verilator.cache_clear()
    try:
        with pytest.raises(CompileError, match="is not installed: devices in Verilog need it"):
            reading.verilator()
    finally:
        reading.verilator.cache_clear()


@pytest.mark.fast
def test_formats_of_signals_and_what_is_not_there(tmp_path: Path, products: Path) -> None:
    with pytest.raises(CompileError, match="name a file"), recording(tmp_path / "signals.txt"):
        pass
    assert "has no model: neither device.py nor device.c" in failure(f"{products}:rtl=0")
    assert cycles_of("3:5") == range(3, 6)
    with pytest.raises(CompileError, match="is not FIRST:LAST"):
        cycles_of("5:3")
    new_folder("plain", tmp_path / "plain")
    assert "has no device.v" in failure(f"{tmp_path / 'plain'}:rtl=1")
    with pytest.raises(CompileError, match="are two devices"):
        new_folder("both", tmp_path / "both", in_c=True, in_verilog=True)


# ---- beside a model -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@has_verilator
def test_the_model_of_qvanilla_is_near_its_verilog() -> None:
    found = check_beside_rtl(f"{RTL}:requant=2", "rv32", jobs=4)
    assert found
    assert found.jobs == 12
    assert found.worst < 0.02


@has_verilator
def test_declared_cycles_are_fitted_to_the_verilog(products: Path) -> None:
    """Declared as taking twice as long, a job counts half."""
    declared = (products / "accelerator.py").read_text()
    unit, right = fit_to_rtl(str(products), "rv32", jobs=6)
    twice = re.sub(r'cycles="([^"]*)"', r'cycles="2 * (\1)"', declared)
    assert twice != declared
    (products / "accelerator.py").write_text(twice)
    _, found = fit_to_rtl(str(products), "rv32", jobs=6)
    assert unit.rtl is not None
    assert found.costs.scale == pytest.approx(right.costs.scale / 2, rel=1e-3)
    assert found.declared_error > 0.5 > found.device_error


def test_a_folder_without_verilog_is_not_fitted() -> None:
    with pytest.raises(CompileError, match="has no Verilog"):
        fit_to_rtl(str(QVANILLA), "rv32")


@pytest.mark.fast
def test_which_folders_have_both(products: Path) -> None:
    assert beside_model(str(RTL)) == f"{RTL}:rtl=1"
    assert beside_model(f"{RTL}:width=8") == f"{RTL}:width=8,rtl=1"
    assert not beside_model(f"{RTL}:rtl=1")
    assert not beside_model(str(products))
