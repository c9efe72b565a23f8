"""Our C against ONNX Runtime on one thread of this machine, in one run; models with stored inputs may be given.

Both sides take the fastest of many runs. ONNX Runtime cannot run the integer dialect (RequantShift and the like): for
such a network the table compares with the same network in standard operators, named in the last column.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import ROOT, label, named_or, stored

from tilewright import pipeline
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.run.host import HostProgram

SAME = {ROOT / "peer/Models/MLPerf/ImageClassification/network.onnx": ROOT / "qdq/resnet8_cifar/int8.onnx"}
"""Networks of the integer dialect and a standard ONNX network with the same layers."""

DEFAULT = [
    "peer/Models/MLPerf/ImageClassification/network.onnx", "qdq/resnet8_cifar/int8.onnx", "qdq/resnet8_cifar/fp32.onnx",
    "qdq/dscnn_kws/int8.onnx", "qdq/dscnn_kws/fp32.onnx", "qdq/mbv1_025_vww/int8.onnx", "qdq/mbv1_025_vww/fp32.onnx",
    "qdq/toyadmos_ae/int8.onnx", "qdq/toyadmos_ae/fp32.onnx", "qdq/mbv2_224/int8.onnx",
]  # fmt: skip

REPEATS = 200


def ours(path: Path) -> tuple[float, int]:
    """Seconds and MACs of one inference."""
    samples, _ = stored(path)
    graph = pipeline.import_model(path, example_inputs=samples)
    made = pipeline.compile_graph(graph, "generic")
    program = HostProgram(made.schedule, made.files, Writer(made.schedule, symbol_prefix(graph.name)), None, False)
    feeds = {name: samples[name].astype(graph.types[name].dtype) for name in graph.inputs}
    return program.run(feeds, REPEATS).fastest, sum(graph.macs(node) for node in graph.nodes)


def runtime(path: Path) -> float:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options)
    samples, _ = stored(path)
    feeds = {value.name: samples[value.name].astype(np.float32) for value in session.get_inputs()}
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        session.run(None, feeds)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    paths = named_or(sys.argv[1:], [ROOT / name for name in DEFAULT])
    table = Table(title=f"one thread, fastest of {REPEATS}")
    for name in ("network", "MAC", "ours ms", "ONNX Runtime ms", "ratio", "compared with"):
        table.add_column(name, justify="left" if name in ("network", "compared with") else "right")
    for path in paths:
        other = SAME.get(path, path)
        seconds, macs = ours(path)
        theirs = runtime(other)
        note = label(other) if other != path else ""
        table.add_row(
            label(path), f"{macs:,}", f"{seconds * 1e3:.3f}", f"{theirs * 1e3:.3f}", f"{seconds / theirs:.2f}", note
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
