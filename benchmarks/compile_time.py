"""CPU seconds and peak memory of compiling each network to C, each in a process of its own.

Networks: every model below the networks folder ($TILEWRIGHT_NETWORKS), or the paths given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import label, models, named_or

ONE = """
import json, resource, sys
from tilewright import pipeline
from tilewright.errors import CompileError
try:
    made = pipeline.compile_graph(pipeline.import_model(sys.argv[1]), "generic")
    size = {"layers": len(made.schedule.calls), "arena": made.schedule.arena_bytes,
            "bound": made.schedule.lower_bound, "flash": made.schedule.flash_bytes,
            "c": sum(map(len, made.files.values()))}
except CompileError as error:
    size = {"refused": str(error).splitlines()[0]}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024, **size}))
"""


def measure(path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", ONE, str(path)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    paths = named_or(sys.argv[1:], [*models("peer/Models/**/*.onnx"), *models("qdq/**/*.onnx")])
    table = Table(title="compiling to C (import, passes, memory plan, text)")
    for name in ("network", "layers", "CPU s", "peak MB", "arena B", "lower bound B", "constants B", "C text B"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for path in paths:
        found = measure(path)
        name = label(path)
        if "refused" in found:
            table.add_row(name, "-", f"{found['cpu']:.2f}", f"{found['rss']:.0f}", str(found["refused"])[:40])
            continue
        counts = [f"{int(found[key]):,}" for key in ("arena", "bound", "flash", "c")]
        table.add_row(name, str(found["layers"]), f"{found['cpu']:.2f}", f"{found['rss']:.0f}", *counts)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
