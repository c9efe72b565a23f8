"""Quantised models, kept between runs: calibrating a decoder takes a minute, reading the result no time.

An entry is an ONNX model with quantisers for a number of tokens, under a hash of all that it depends on: the float
graph, the samples, the options and the code. What was made now goes the same way as what is read, so that both are the
same program.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tilewright import pipeline
from tilewright.export import save
from tilewright.ir.at_sizes import at_sizes
from tilewright.ir.digest import digest
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.decoder import TOKENS
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.toolchain.compiler import cache_folder
from tilewright.toolchain.object_cache import MB, ObjectCache
from tilewright.version import VERSION

FOLDER, MOST = "quantised", 256 * MB
"""Where in the cache folder, and how many bytes; entries that were not used for longest go first."""
PACKAGE = Path(__file__).parents[1]
CODE = ("ir", "ops", "passes", "frontends", "export", "quantiser", "pipeline.py")
"""What the result depends on, of this package."""


def quantised(
    graph: Graph, samples: dict[str, Array], options: Options, progress: Progress = silent
) -> Callable[[int], Graph]:
    """A graph of any number of tokens with quantisers, at a number; from the cache folder if it was made before."""
    kept = ObjectCache(cache_folder() / FOLDER, MOST)
    key = _key(graph, samples, options)
    made = cache(lambda: quantise(graph, samples, options, progress=progress).graph)

    def of(tokens: int) -> Graph:
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            place = Path(folder) / "quantised.onnx"
            if not kept.take(f"{key}{tokens}", place):
                save(at_sizes(made(), {TOKENS: tokens}), place)
                kept.keep(f"{key}{tokens}", place)
            return pipeline.import_model(place)

    return of


def _key(graph: Graph, samples: dict[str, Array], options: Options) -> str:
    parts = [VERSION, _code(), repr(options), repr(graph.inputs), repr(graph.outputs)]
    parts += [f"{name} {kind}" for name, kind in graph.types.items()]
    parts += [f"{node.op!r} {node.inputs} {node.outputs} {node.name}" for node in graph.nodes]
    parts += [f"{name} {array.shape} {digest(array)}" for name, array in (*graph.constants.items(), *samples.items())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _code() -> str:
    """A hash of the sources: a version that is worked on keeps its number."""
    total = hashlib.sha256()
    for name in CODE:
        place = PACKAGE / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            total.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    return total.hexdigest()
