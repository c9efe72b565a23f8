"""Predicted cycles of softmax of int8, for an element: our streams on each NPU, Vela's, and the cores' kernels.

python -m benchmarks.ethos_u_softmax
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.targets.ethos_u.test_softmaxes import softmax_of

from tilewright.frontends.tflite import importer
from tilewright.ir.graph import Graph
from tilewright.ir.types import Shape
from tilewright.ops._ethosu import EthosU
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS
from tilewright.target.core_or_accelerator import fewest_cycles
from tilewright.targets import find
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.ethos_u.softmaxes import with_softmaxes
from tilewright.targets.ethos_u.tflite_file import FileGraph, FileTensor
from tilewright.targets.ethos_u.vela import compiled_by_vela

SHAPES = ((128, 32), (111, 37), (512, 128), (591, 197))
"""Rows and their elements: heads times tokens, and tokens."""
CORES = ("cortex-m55", "cortex-m33")
SCALE, LEVELS = 0.1, 354.0


def of_streams(graph: Graph) -> int:
    return sum(node.op.cycles for node in graph.nodes if isinstance(node.op, EthosU))


def ours(npu: str, shape: Shape) -> float:
    return of_streams(with_softmaxes(npu, None, ETHOS_U_NUMERICS.run(softmax_of(shape, SCALE, LEVELS)))[0])


def of_vela(npu: str, shape: Shape) -> float:
    """Of a file with one SOFTMAX, whose result has the only scale that there is."""
    file = FileGraph()
    x = file.add(FileTensor("x", "int8", shape, (SCALE,)))
    y = file.add(FileTensor("y", "int8", shape, (1 / 256,), -128))
    file.apply("SOFTMAX", (x,), y, "SoftmaxOptions", Beta=1.0)
    return of_streams(importer.load(compiled_by_vela(npu, file.data([x], [y]), "softmax").data))


def of_core(core: str, shape: Shape) -> float:
    graph = softmax_of(shape, SCALE, LEVELS)
    return fewest_cycles(graph, graph.nodes[0], find(core))


def show(name: str, cycles: Callable[[str, Shape], float], who: str) -> None:
    each = (f"{cycles(who, shape) / (shape[0] * shape[1]):8.1f}" for shape in SHAPES)
    print(f"{name:20} {' '.join(each)}", flush=True)


def main() -> None:
    print(f"{'':20} {' '.join(f'{rows:4}x{count:3}' for rows, count in SHAPES)}")
    for npu in CONFIGURATIONS:
        show(npu.removeprefix("ethos-"), ours, npu)
        show(f"{npu.removeprefix('ethos-')}, Vela", of_vela, npu)
    for core in CORES:
        show(core, of_core, core)


if __name__ == "__main__":
    main()
