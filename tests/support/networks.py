"""Networks with stored inputs and outputs to test with; they are not part of the project.

$TILEWRIGHT_NETWORKS names their folder; by default it is looked for beside the checkout.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from tilewright.ir.types import Array

ROOT = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[3] / "shared" / "networks"))


def models(pattern: str) -> list[Path]:
    """Model files below the folder, sorted."""
    return sorted(ROOT.glob(pattern))


def those_there(*names: str) -> list[Path]:
    """Of files below the folder, by their names in it."""
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def named_or(words: Sequence[str], usual: Sequence[Path]) -> list[Path]:
    """The models that a command names, or the usual ones; it ends in words where one is missing."""
    paths = [Path(word) for word in words] or list(usual)
    missing = [path for path in paths or [ROOT] if not path.is_file()]
    if missing:
        raise SystemExit(f"no model at {missing[0]}: name models, or set TILEWRIGHT_NETWORKS to the folder of networks")
    return paths


def label(path: Path) -> str:
    """A short name of a model for test ids and tables."""
    inside = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(*path.parts[-2:])
    parts = inside.with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == "network" else parts)


def stored(path: Path) -> tuple[dict[str, Array], list[Array]]:
    """The inputs by name and the outputs in order; the files keep both in the order of the graph."""
    model = onnx.load(path, load_external_data=False)
    fixed = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in fixed]
    outputs = path.parent / "outputs.npz"
    if not outputs.is_file():
        outputs = path.parent / f"outputs_{path.stem}.npz"
    # Some files hold the weights after the inputs.
    return dict(zip(names, _arrays(path.parent / "inputs.npz"), strict=False)), _arrays(outputs)


def _arrays(path: Path) -> list[Array]:
    with np.load(path) as file:
        return [file[name] for name in file.files]
