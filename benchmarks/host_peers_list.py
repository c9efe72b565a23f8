"""Who takes part: what is installed for each, and what each makes of a network before it is loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.host_environments import TORCH, Environment, Failed
from benchmarks.host_models import Network

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.program import compile_model

Make = Callable[[Network, int, Path], Path]
"""A network, the number of threads and the cache folder -> the file or folder that is loaded."""


@dataclass(frozen=True)
class Peer:
    name: str
    module: str
    """Of host_contestants."""
    packages: tuple[str, ...]
    """By pip; none where this environment does."""
    make: Make
    kinds: tuple[str, ...] = ("fp32", "int8")


def the_model(network: Network, threads: int, cache: Path) -> Path:
    """It is read as it is."""
    return network.onnx


def the_module(network: Network, threads: int, cache: Path) -> Path:
    """It is built from its definition."""
    return network.definitions / network.name


def our_library(network: Network, threads: int, cache: Path) -> Path:
    """A shared library, made anew: it is ours that changes."""
    place = cache / "made" / "tilewright" / f"{network.name}_{network.kind}_{threads}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    settings = replace(pipeline.DEFAULT, threads=threads)
    try:
        program = compile_model(network.onnx, target="cpu", settings=settings)
        shutil.copyfile(program.load().library, place / "network.so")
    except CompileError as error:
        raise Failed(str(error)) from None
    graph = program.compiled.schedule.graph
    kinds = [graph.types[name] for name in dict.fromkeys(graph.outputs)]
    (place / "outputs.json").write_text(json.dumps([[kind.shape, kind.dtype] for kind in kinds]))
    return place


def made_by(script: str, suffix: str, *packages: str) -> Make:
    """By a script in an environment of its own, once for all threads."""

    def make(network: Network, threads: int, cache: Path) -> Path:
        place = cache / "made" / script.removesuffix(".py")
        made = place / f"{network.name}_{network.kind}{suffix}"
        if not made.exists():
            place.mkdir(parents=True, exist_ok=True)
            environment = Environment(cache / "environments", packages).ready()
            draft = place / f"draft{suffix}"
            given = network.definitions, network.name, network.kind, network.onnx, network.inputs
            environment.run(script, *given, draft)
            draft.rename(made)
        return made

    return make


OURS = Peer("tilewright", "with_tilewright", (), our_library)
RUNTIME = ("ai-edge-litert", "numpy")
LIST = (
    Peer("onnxruntime", "with_onnxruntime", ("onnxruntime", "numpy"), the_model),
    Peer(
        "litert", "with_litert", RUNTIME,
        made_by("make_litert.py", ".tflite", "onnx2tf", "tensorflow", "tf-keras"),
    ),
    Peer("openvino", "with_openvino", ("openvino", "numpy"), the_model),
    Peer(
        "aotinductor", "with_aotinductor", (TORCH, "numpy", "setuptools"),
        made_by("make_aotinductor.py", ".pt2", TORCH, "numpy", "setuptools"), ("fp32",),
    ),
    Peer("inductor", "with_inductor", (TORCH, "numpy", "setuptools"), the_module, ("fp32",)),
    Peer(
        "iree", "with_iree", ("iree-base-runtime", "numpy"),
        made_by("make_iree.py", ".vmfb", "iree-base-compiler[onnx]", "numpy"),
    ),
)  # fmt: skip
PEERS = {peer.name: peer for peer in LIST}
