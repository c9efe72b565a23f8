"""CPU seconds and peak memory of compiling each network to C, each in a process of its own.

    python benchmarks/compile_time.py [MODEL ...]       for plain C
    python benchmarks/compile_time.py --cluster         networks and settings on which the planner has most to do

Networks: every model below the networks folder ($TILEWRIGHT_NETWORKS), or the paths given; the large ones of
`large_networks` are made here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import onnx
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.large_networks import NETWORKS, quantised
from tests.support.networks import ROOT, label, models, named_or

import tilewright

ONE = """
import json, resource, sys
from tilewright import pipeline
from tilewright.errors import CompileError
try:
    made = pipeline.compile_graph(pipeline.import_model(sys.argv[1]), "generic")
    size = {"layers": len(made.schedule.layers), "arena": made.schedule.arena_bytes,
            "bound": made.schedule.lower_bound, "flash": made.schedule.constant_bytes,
            "c": sum(map(len, made.files.values()))}
except CompileError as error:
    size = {"refused": str(error).splitlines()[0]}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024, **size}))
"""

PLANNED = """
import json, resource, sys
import tilewright as tw
from tilewright.target.settings import Settings
settings = Settings(**{k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(sys.argv[2]).items()})
try:
    plan = tw.compile(sys.argv[1], target="siracusa", settings=settings).compiled.allocation
    size = {"layers": len(plan.steps), "tiles": sum(step.option.grid.tiles for step in plan.steps),
            "predicted": plan.predicted, "bound": plan.bound}
except tw.CompileError as error:
    size = {"refused": str(error).splitlines()[0]}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024, **size}))
"""


class Case(NamedTuple):
    network: str
    """Below the networks folder, or of those that are made."""
    settings: dict[str, object]


LLAMA = "peer/Models/microLlama/INT8/microLlama64"
CLUSTER = {"engines": ["cluster"]}
CASES = (
    Case(f"{LLAMA}_parallel", {"l1": 64_000}),
    Case(f"{LLAMA}_parallel", {"l1": 64_000, **CLUSTER}),
    Case(f"{LLAMA}_parallel", {"l1": 8_000, **CLUSTER}),
    Case(LLAMA, {"l1": 64_000}),
    Case("peer/Models/MLPerf/ImageClassification", {"l1": 16_000}),
    Case("reader", {}),
    Case("reader", CLUSTER),
    Case("reader", {**CLUSTER, "l1": 64_000, "l2": 1_000_000}),
    Case("detector", {}),
)


def measure(script: str, *arguments: str) -> dict[str, float]:
    """In a process that finds Python's files compiled, as after the first run."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(Path(tilewright.__file__).parent)], check=True)
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def table_of(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for name in columns:
        table.add_column(name, justify="left" if name in ("network", "settings") else "right")
    return table


def plain(paths: list[Path]) -> Table:
    sizes = ("arena B", "lower bound B", "constants B", "C text B")
    table = table_of(
        "compiling to C (import, passes, memory plan, text)", "network", "layers", "CPU s", "peak MB", *sizes
    )
    for path in paths:
        found = measure(ONE, str(path))
        name = label(path)
        if "refused" in found:
            table.add_row(name, "-", f"{found['cpu']:.2f}", f"{found['rss']:.0f}", str(found["refused"])[:40])
            continue
        counts = [f"{int(found[key]):,}" for key in ("arena", "bound", "flash", "c")]
        table.add_row(name, str(found["layers"]), f"{found['cpu']:.2f}", f"{found['rss']:.0f}", *counts)
    return table


def planned(folder: Path) -> Table:
    columns = ("network", "settings", "layers", "tiles", "CPU s", "peak MB", "predicted cycles", "bound")
    table = table_of("compiling for siracusa", *columns)
    for name, settings in CASES:
        path = folder / f"{name}.onnx" if name in NETWORKS else ROOT / name / "network.onnx"
        if name in NETWORKS and not path.is_file():
            onnx.save(quantised(name), path)
        if not path.is_file():
            continue
        found = measure(PLANNED, str(path), json.dumps(settings))
        used = [f"{found['cpu']:.1f}", f"{found['rss']:.0f}"]
        shown = ", ".join(f"{key} {value}" for key, value in settings.items())
        if "refused" in found:
            table.add_row(name, shown, "-", "-", *used, str(found["refused"])[:60])
            continue
        counts = [f"{int(found[key]):,}" for key in ("layers", "tiles", "predicted", "bound")]
        table.add_row(name, shown, *counts[:2], *used, *counts[2:])
    return table


def main() -> None:
    words = sys.argv[1:]
    if "--cluster" in words:
        with tempfile.TemporaryDirectory() as folder:
            Console(width=180).print(planned(Path(folder)))
        return
    Console(width=150).print(plain(named_or(words, [*models("peer/Models/**/*.onnx"), *models("qdq/**/*.onnx")])))


if __name__ == "__main__":
    main()
