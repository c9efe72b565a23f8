"""Who takes part: what is installed for each, and what each makes of a network before it is loaded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.host_environments import TORCH, Environment, Failed
from benchmarks.host_models import Network

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.program import compile_model

Make = Callable[[Network, int, Path, float], Path]
"""A network, the number of threads, the cache folder and the most seconds -> the file or folder that is loaded."""


@dataclass(frozen=True)
class Peer:
    name: str
    module: str
    """Of host_contestants."""
    packages: tuple[str, ...]
    """By pip; none where this environment does."""
    make: Make
    kinds: tuple[str, ...] = ("fp32", "int8")


def the_model(network: Network, threads: int, cache: Path, limit: float) -> Path:
    """It is read as it is."""
    return network.onnx


def the_module(network: Network, threads: int, cache: Path, limit: float) -> Path:
    """It is built from its definition."""
    return network.definitions / network.name


def our_library(network: Network, threads: int, cache: Path, limit: float) -> Path:
    """A shared library, made anew: it is ours that changes."""
    place = cache / "made" / "tilewright" / f"{network.name}_{network.kind}_{threads}"
    return library_of(network.onnx, threads, place)


def library_of(model: Path, threads: int, place: Path) -> Path:
    """A folder with the library of a model, and with what its outputs are."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    settings = replace(pipeline.DEFAULT, threads=threads)
    try:
        program = compile_model(model, target="cpu", settings=settings)
        shutil.copyfile(program.load().library, place / "network.so")
    except CompileError as error:
        raise Failed(str(error)) from None
    graph = program.compiled.schedule.graph
    kinds = [graph.types[name] for name in dict.fromkeys(graph.outputs)]
    (place / "outputs.json").write_text(json.dumps([[kind.shape, kind.dtype] for kind in kinds]))
    return place


def made_by(script: str, suffix: str, packages: tuple[str, ...], alone: tuple[str, ...] = ()) -> Make:
    """By a script in an environment of its own, once for all threads; or what lies beside the model already."""

    def make(network: Network, threads: int, cache: Path, limit: float) -> Path:
        beside = network.onnx.with_suffix(suffix)
        if beside.exists():
            return beside
        place = cache / "made" / script.removesuffix(".py")
        made = place / f"{network.name}_{network.kind}{suffix}"
        if not made.exists():
            place.mkdir(parents=True, exist_ok=True)
            environment = Environment(cache / "environments", packages, alone).ready()
            draft = place / f"draft_{os.getpid()}{suffix}"
            given = network.definitions, network.name, network.kind, network.onnx, network.inputs
            environment.run(script, *given, draft, limit=limit)
            draft.rename(made)
        return made

    return make


OURS = Peer("tilewright", "with_tilewright", (), our_library)
INDUCTOR = (TORCH, "numpy", "setuptools")
CONVERTER = (
    "tensorflow==2.21.0", "jax==0.10.2", "torch==2.9.1", "absl-py", "immutabledict", "ml_dtypes", "multipledispatch",
    "safetensors", "scipy", "tabulate", "tqdm",
)  # fmt: skip
LITERT = ("ai-edge-litert", "numpy")
CONVERTER_ALONE = ("ai-edge-torch==0.7.0", "ai-edge-quantizer==0.4.2", "ai-edge-litert==2.1.2", "torch-xla2")
"""The last that convert by TensorFlow, which has packages for Arm; what they ask for by name has none."""
LIST = (
    Peer("onnxruntime", "with_onnxruntime", ("onnxruntime", "numpy"), the_model),
    Peer(
        "litert", "with_litert", LITERT,
        made_by("make_litert.py", ".tflite", CONVERTER, CONVERTER_ALONE),
    ),
    Peer("openvino", "with_openvino", ("openvino", "numpy"), the_model),
    Peer(
        "aotinductor", "with_aotinductor", INDUCTOR, made_by("make_aotinductor.py", ".pt2", INDUCTOR), ("fp32",)
    ),
    Peer("inductor", "with_inductor", INDUCTOR, the_module, ("fp32",)),
    Peer(
        "iree", "with_iree", ("iree-base-runtime", "numpy"),
        made_by("make_iree.py", ".vmfb", ("iree-base-compiler[onnx]", "numpy")),
    ),
)  # fmt: skip
PEERS = {peer.name: peer for peer in LIST}
