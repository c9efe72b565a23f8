"""Random graphs, compiled to C and run, against ONNX Runtime: python -m benchmarks.differential [--seconds 60]

With --target siracusa they run on its virtual SoC, each graph with other cores, memories and homes.

Each graph has a random opset and some dozens of random nodes. ONNX Runtime computes every node by itself, without
optimisations; held to its results are each node's numpy meaning, the whole graph's, the schedule's interpreter and C;
the reference of the whole graph is held to the graph as imported.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from benchmarks import differential_arithmetic, differential_moves
from benchmarks.differential_graphs import Net
from onnx import NodeProto, helper
from rich.console import Console
from rich.table import Table

import tilewright as tw
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.planner.schedule.interpret import interpret
from tilewright.program import Program
from tilewright.target.settings import Settings

CASES = differential_moves.CASES | differential_arithmetic.CASES
OPSETS = (7, 23)
TOLERANCE = 1e-4
"""Relative to the largest element; where the order of additions does not matter, floats differ by less than 1e-6."""


@dataclass
class Report:
    graphs: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """What differs, with the seed of its graph."""


def settings_of(seed: int, target: str) -> Settings:
    if target == "generic":
        return Settings()
    chance = random.Random(seed)
    return Settings(
        chance.randint(1, 8), chance.choice((4_000, 9_000, 16_000, 60_000, 256 * 1024)), None,
        chance.choice(("", "L2", "L3")), chance.choice(("auto", "single", "double")), ("cluster",), 1.0,
    )  # fmt: skip


def run(seed: int, nodes: int, report: Report, cc: str | None = None, target: str = "generic") -> None:
    """One graph."""
    net = grow(seed, nodes, report)
    report.graphs += 1
    outputs = net.outputs()
    model, feeds = net.whole(outputs)
    try:
        program = tw.compile(model, target=target, cc=cc, settings=settings_of(seed, target))
        check = program.check(feeds)
        results = {"C": check.result.outputs}
        if check.imported is not None and (apart := check.imported.first_difference):
            report.wrong.append(f"graph {seed}, reference: {apart.remark}: {apart.name}")
        if target == "generic":
            results["interpreter"] = _interpreted(program, feeds)
    except Exception as error:
        report.wrong.append(f"graph {seed}: {type(error).__name__}: {error}")
        return
    made = {name: node for node in net.nodes for name in node.output}
    for option, found in results.items():
        for name in outputs:
            if problem := difference(found[name], net.values[name], net.exact[name]):
                what = _text(net, made[name]) if name in made else name
                report.wrong.append(f"graph {seed}, {option}: {problem}: {what}")


def grow(seed: int, nodes: int, report: Report) -> Net:
    """A random graph of nodes that are supported; each is right by itself."""
    net = Net(seed, int(np.random.default_rng(seed).integers(OPSETS[0], OPSETS[1] + 1)))
    kinds, weights = list(CASES), np.array(list(CASES.values()), float)
    for _ in range(4 * nodes):
        if len(net.nodes) >= nodes:
            break
        before = len(net.nodes)
        kinds[int(net.random.choice(len(kinds), p=weights / weights.sum()))](net)
        for node in net.nodes[before:]:
            _check_alone(seed, net, node, report)
    return net


def _check_alone(seed: int, net: Net, node: NodeProto, report: Report) -> None:
    model, feeds = net.alone(node)
    report.nodes[node.op_type] += 1
    try:
        graph = pipeline.import_model(model)
        pipeline.stage(graph, "generic", "mapped")
        found = evaluate(graph, feeds)
        pairs = zip(graph.outputs, node.output, strict=True)
        problems = [difference(found[tensor], net.values[name], net.exact[name]) for tensor, name in pairs]
    except CompileError:
        report.refused[node.op_type] += 1
        net.drop(node)
        return
    except Exception as error:
        problems = [f"{type(error).__name__}: {error}"]
    if any(problems):
        report.wrong.append(f"graph {seed}, alone: {' '.join(problems)}: {_text(net, node)}")
        net.drop(node)


def difference(found: Array, wanted: Array, exact: bool) -> str:
    """How two results differ, if they do."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind != "f":
        count = int(np.count_nonzero(found != wanted))
        return f"{count} of {found.size} differ" if count else ""
    apart = np.abs(found.astype(np.float64) - wanted)
    # Logarithms of what is nearly one have no digits of their own.
    scale = max(float(np.abs(wanted).max(initial=0)), 0.01)
    worst = float(apart.max(initial=0)) / scale
    return "" if worst <= (1e-6 if exact else TOLERANCE) else f"{worst:g} of the largest element"


def _interpreted(program: Program, feeds: dict[str, Array]) -> dict[str, Array]:
    schedule = program.compiled.schedule
    found = interpret(schedule, feeds)
    pairs = zip(schedule.graph.output_names, schedule.graph.outputs, strict=True)
    return {name: found[tensor] for name, tensor in pairs}


def _text(net: Net, node: NodeProto) -> str:
    """A node with the types of its operands, small constants in full."""
    operands = [_operand(net, name) if name else "-" for name in node.input]
    attributes = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
    return f"{node.op_type}({', '.join(operands)}) {attributes}, opset {net.opset}"


def _operand(net: Net, name: str) -> str:
    value = net.values[name]
    shown = f" = {value.tolist()}" if name in net.constants and value.size < 9 else ""
    return f"{name}: {value.dtype}{list(value.shape)}{shown}"


def seeds(first: int, graphs: int, seconds: float) -> Iterator[int]:
    """So many, or as many as there is time for."""
    start = time.monotonic()
    seed = first
    while time.monotonic() - start < seconds if seconds else seed < first + graphs:
        yield seed
        seed += 1


def table(report: Report) -> Table:
    title = f"{report.graphs} graphs, {sum(report.nodes.values()):,} nodes, {len(report.wrong)} wrong"
    found = Table(title=title)
    for column in ("operator", "nodes", "refused"):
        found.add_column(column, justify="left" if column == "operator" else "right")
    for kind, count in sorted(report.nodes.items()):
        found.add_row(kind, str(count), str(report.refused[kind] or ""))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.0, help="run for this long instead")
    parser.add_argument("--nodes", type=int, default=60, help="in each graph")
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--target", default="generic")
    parser.add_argument("--cc", help="the C compiler")
    options = parser.parse_args()
    report, console = Report(), Console()
    for seed in seeds(options.seed, options.graphs, options.seconds):
        run(seed, options.nodes, report, options.cc, options.target)
    console.print(table(report))
    for text in report.wrong:
        console.print(text, markup=False)
    raise SystemExit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
