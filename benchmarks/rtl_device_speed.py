"""How much slower a device in Verilog is simulated than its model in C: the engine that `accelerator new --rtl` writes,
made to take as long in both, at work for nearly all of a run.

    python benchmarks/rtl_device_speed.py [--rows 128] [--runs 5]

Processor time of the runs alone, interleaved, the fastest of each; nothing is compiled in them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright.accelerator.area import find_yosys, rtl_area
from tilewright.bringup.skeleton import new_folder

INNER, COLUMNS = 64, 64
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


def network(rows: int) -> bytes:
    weights = np.random.default_rng(0).integers(-128, 128, (INNER, COLUMNS), np.int8)
    x = helper.make_tensor_value_info("x", TensorProto.INT8, [rows, INNER])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [rows, COLUMNS])
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "product", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = folder_in(Path(place))
        words = {"model in C": str(folder), "Verilog": f"{folder}:rtl=1"}
        programs = {
            name: tw.compile(network(given.rows), target="rv32", accelerators=[word]) for name, word in words.items()
        }
        inputs = programs["Verilog"].random_inputs()
        seconds = {name: float("inf") for name in programs}
        cycles = {name: program.run(inputs).cycles or 0 for name, program in programs.items()}
        for _ in range(given.runs):
            for name, program in programs.items():
                start = time.process_time()
                program.run(inputs)
                seconds[name] = min(seconds[name], time.process_time() - start)
        for name in programs:
            speed = cycles[name] / seconds[name]
            print(f"{name}: {cycles[name]:,} cycles in {seconds[name]:.2f} s, {speed / 1e6:.2f} M cycles/s")
        print(f"the Verilog takes {seconds['Verilog'] / seconds['model in C']:.1f} times as long")
        if find_yosys() is not None:
            print(f"it has {rtl_area(str(folder)).cells:,} cells")


if __name__ == "__main__":
    main()
