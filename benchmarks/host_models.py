"""The networks that computers are compared with: ONNX files with inputs and the outputs that PyTorch gives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.host_environments import TORCH, Environment, done_by

NETWORKS = (
    "dscnn_kws", "mbv1_025_vww", "resnet8_cifar", "toyadmos_ae", "mbv2_224", "resnet18_224", "bert_tiny",
    "llama_st_pre64", "llama_st_dec256",
)  # fmt: skip
KINDS = ("fp32", "int8")


@dataclass(frozen=True)
class Network:
    """One network in one number format."""

    name: str
    kind: str
    folder: Path
    """With the files of all networks."""
    definitions: Path
    """With the modules of PyTorch."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.kind}"

    @property
    def onnx(self) -> Path:
        return self.folder / f"{self.name}_{self.kind}.onnx"

    @property
    def inputs(self) -> Path:
        return self.folder / f"{self.name}_inputs.npz"

    @property
    def macs(self) -> int:
        return int(json.loads((self.folder / "meta.json").read_text())[self.name]["macs"])

    def expected(self) -> list[np.ndarray]:
        return list(np.load(self.folder / f"{self.name}_ref.npz").values())


def networks(names: list[str], kinds: list[str], folder: Path | None, definitions: Path, cache: Path) -> list[Network]:
    """Those of a folder, or made where none is given."""
    place = folder or cache / "models"
    missing = [name for name in names if not (place / f"{name}_ref.npz").is_file()]
    if missing and folder is None:
        packages = (TORCH, "onnx", "onnxruntime", "onnxslim", "sympy")
        made = Environment(cache / "environments", packages).ready()
        cache.mkdir(parents=True, exist_ok=True)
        done_by([made.python, definitions / "gen_models.py", *missing], cache)
    return [Network(name, kind, place, definitions) for name in names for kind in kinds]
