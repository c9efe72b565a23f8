"""What a core takes for an Ethos-U beside it: for a job, and for each byte that it copies or writes as weights.

    python -m benchmarks.ethos_u_costs [--core cortex-m55] [--core cortex-m33]

Products of two computed matrices of several sizes run on each core. Lines through the cycles of their jobs and of
their weights are what `targets/ethos_u/costs.py` has.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.zoo_net import Net
from onnx import ModelProto, TensorProto
from rich.console import Console
from rich.table import Table

import tilewright as tw
from tilewright.ops._ethosu import EthosU
from tilewright.ops._ethosuweights import EthosUWeights

NPU = "u55-128"
SIZES = ((32, 64, 32), (48, 96, 32), (64, 128, 32), (96, 64, 64), (128, 96, 64), (160, 128, 64))
"""Rows, inputs and results."""

Point = tuple[float, float]
"""Bytes and cycles."""


def product(rows: int, inputs: int, results: int) -> ModelProto:
    net = Net(1)
    operands = [net.input(*shape, dtype=TensorProto.INT8) for shape in ((rows, inputs), (inputs, results))]
    zero, small, large = net.constant(0, "int8"), net.constant(0.02), net.constant(0.01 * inputs)
    reals = [net("DequantizeLinear", name, small, zero) for name in operands]
    return net.model(net("QuantizeLinear", net("MatMul", *reals), large, zero))


def points(core: str) -> Iterator[tuple[str, Point]]:
    """Of jobs, without what the NPU takes, and of weights."""
    for sizes in SIZES:
        program = tw.compile(product(*sizes), target=f"{core}+{NPU}")
        layers = program.profile().profile.layers
        schedule = program.compiled.schedule
        for layer, call in zip(layers, schedule.layers, strict=True):
            types, op = schedule.graph.operand_types(call.node), call.node.op
            made = schedule.graph.types[call.node.key].bytes
            if isinstance(op, EthosU):
                given = sum(kind.bytes for name, kind in types.items() if name not in ("stream", "weights"))
                yield "job, copied bytes", (given + made, layer.cycles - op.cycles)
            elif isinstance(op, EthosUWeights):
                yield "weights, written bytes", (made, layer.cycles)


def line(found: Sequence[Point]) -> tuple[float, float, float]:
    """Cycles of one, cycles of a byte, and the largest error of this line."""
    sizes, cycles = np.array(found).T
    slope, first = np.polyfit(sizes, cycles, 1)
    return first, slope, float(np.abs((first + slope * sizes) / cycles - 1).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", action="append", help="these alone")
    table = Table("core", "what", "points", "cycles of one", "cycles of a byte", "largest error")
    for core in parser.parse_args().core or ["cortex-m33", "cortex-m55"]:
        groups: dict[str, list[Point]] = {}
        for what, point in points(core):
            groups.setdefault(what, []).append(point)
        for what, found in groups.items():
            first, slope, error = line(found)
            table.add_row(core, what, str(len(found)), f"{first:.0f}", f"{slope:.2f}", f"{100 * error:.1f} %")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
