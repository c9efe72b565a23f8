"""How much slower a device in Verilog is simulated than its model in C, which takes as many cycles, at work for nearly
all of a run: a table of bytes (`rtl_table`, about 2,000 cells) and the engine that `accelerator new --rtl` writes
(17,000).

    python benchmarks/rtl_device_speed.py [--rows 128] [--runs 5]

Processor time of the runs alone, interleaved, the fastest of each; nothing is compiled in them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright.accelerator.area import find_yosys, rtl_area
from tilewright.bringup.skeleton import new_folder

INNER, COLUMNS = 64, 64
TABLE = Path(__file__).parent / "rtl_table"
Kind = tuple[int, list[int]]
LOOKUPS = 1024
"""Of each row: RAM has room for 200 rows."""
CYCLES = ("(macs + UPPER_MACS_PER_CYCLE - 1) / UPPER_MACS_PER_CYCLE + 20", "2 * macs + 3ull * r->rows * r->columns")
"""Of the model, and those of the Verilog."""


def folder_in(place: Path) -> Path:
    """With both; the declaration is that of the Verilog."""
    folder, model = place / "products", place / "model"
    new_folder("products", folder, in_verilog=True)
    new_folder("products", model, in_c=True)
    text = (model / "device.c").read_text()
    own = tuple(part.replace("UPPER", "PRODUCTS") for part in CYCLES)
    assert own[0] in text
    (folder / "device.c").write_text(text.replace(*own))
    return folder


def products(rows: int) -> bytes:
    weights = np.random.default_rng(0).integers(-128, 128, (INNER, COLUMNS), np.int8)
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    return _model([node], (TensorProto.INT8, [rows, INNER]), (TensorProto.INT32, [rows, COLUMNS]), {"w": weights})


def lookups(rows: int) -> bytes:
    scales = {"from": np.float32(0.05), "to": np.float32(1 / 256), "none": np.int8(0), "least": np.int8(-128)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "from", "none"], ["real"]),
        helper.make_node("Sigmoid", ["real"], ["between"]),
        helper.make_node("QuantizeLinear", ["between", "to", "least"], ["y"]),
    ]
    shape = [rows, LOOKUPS]
    return _model(nodes, (TensorProto.INT8, shape), (TensorProto.INT8, shape), scales)


def _model(nodes: list[onnx.NodeProto], x: Kind, y: Kind, constants: dict[str, Any]) -> bytes:
    ends = [helper.make_tensor_value_info(name, *kind) for name, kind in (("x", x), ("y", y))]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "layer", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def compare(name: str, folder: Path, model: bytes, runs: int) -> None:
    words = {"model in C": f"{folder}:rtl=0", "Verilog": f"{folder}:rtl=1"}
    programs = {kind: tw.compile(model, target="rv32", accelerators=[word]) for kind, word in words.items()}
    inputs = programs["Verilog"].random_inputs()
    seconds = {kind: float("inf") for kind in programs}
    cycles = {kind: program.run(inputs).cycles or 0 for kind, program in programs.items()}
    for _ in range(runs):
        for kind, program in programs.items():
            start = time.process_time()
            program.run(inputs)
            seconds[kind] = min(seconds[kind], time.process_time() - start)
    cells = f", {rtl_area(str(folder)).cells:,} cells" if find_yosys() is not None else ""
    print(f"{name}{cells}: the Verilog takes {seconds['Verilog'] / seconds['model in C']:.1f} times as long")
    for kind in programs:
        speed = cycles[kind] / seconds[kind]
        print(f"  {kind}: {cycles[kind]:,} cycles in {seconds[kind]:.2f} s, {speed / 1e6:.2f} M cycles/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        compare("table", TABLE, lookups(given.rows), given.runs)
        compare("products", folder_in(Path(place)), products(given.rows), given.runs)


if __name__ == "__main__":
    main()
