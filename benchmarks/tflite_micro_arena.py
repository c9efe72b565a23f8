"""RAM of TensorFlow Lite Micro's arena beside ours, network by network.

    python benchmarks/tflite_micro_arena.py ../shared/networks/mlperf_tiny

What TFLite Micro needs is what its recording allocator says: the head has tensors and working memory, the tail what
the interpreter keeps. It is asked in a Python that has `tflite-micro`, which pip has for x86-64 alone: there structures
with pointers are up to twice as large as on a microcontroller. Ours is the arena of a cortex-m4 with inputs and
outputs, by default and with --optimise ram.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

ASKING = """
import sys
from tflite_micro.python.tflite_micro import runtime
for path in sys.argv[1:]:
    print("file", path, file=sys.stderr, flush=True)
    try:
        runtime.Interpreter.from_file(path).print_allocations()
    except Exception as error:
        print(error, file=sys.stderr, flush=True)
"""
LINE = re.compile(r"Arena allocation (total|head|tail) (\d+) bytes")


def theirs(files: list[Path], python: str) -> dict[Path, dict[str, int]]:
    """Total, head and tail of every file that TFLite Micro takes."""
    command = [*shlex.split(python), "-c", ASKING, *(str(path.resolve()) for path in files)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = ended.stderr.splitlines() + ended.stdout.splitlines()
    if not any(line.startswith("file ") for line in lines):
        sys.exit(f"tflite-micro did not run: {ended.stderr.strip().splitlines()[-1]}")
    found: dict[Path, dict[str, int]] = {}
    for line in lines:
        if line.startswith("file "):
            now = found.setdefault(next(path for path in files if str(path.resolve()) == line[5:]), {})
        elif said := LINE.search(line):
            now[said[1]] = int(said[2])
    return found


def ours(path: Path, *options: str) -> int:
    """The arena, and inputs and outputs that are not in it."""
    command = [sys.executable, "-m", "tilewright", "run", str(path), "--target", "cortex-m4", "--json", *options]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return int(said["arena_bytes"]) + int(said["io_bytes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tflite-micro", default=sys.executable, metavar="PYTHON", help="a Python that has it")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.tflite"))
    table = Table("network", "TFLite Micro", "head + tail", "tilewright", "ratio", "--optimise ram", "ratio")
    for path, bytes_ in theirs(files, given.tflite_micro).items():
        if "total" not in bytes_:
            table.add_row(path.stem, "refused")
            continue
        whole, small = ours(path), ours(path, "--optimise", "ram")
        total, parts = bytes_["total"], f"{bytes_['head']:,} + {bytes_['tail']:,}"
        ratios = (f"{whole:,}", f"{whole / total:.2f}", f"{small:,}", f"{small / total:.2f}")
        table.add_row(path.stem, f"{total:,}", parts, *ratios)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
