"""Networks with stored inputs and outputs to test with; they are not part of the project.

$TILEWRIGHT_NETWORKS names their folder; by default it is looked for beside the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from tilewright.types import Array

ROOT = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[2] / "shared" / "networks"))

needs_networks = pytest.mark.skipif(
    not ROOT.is_dir(), reason=f"no networks at {ROOT} (set TILEWRIGHT_NETWORKS to their folder)"
)


def models(pattern: str) -> list[Path]:
    """Model files below the folder, sorted."""
    return sorted(ROOT.glob(pattern))


def label(path: Path) -> str:
    """A short name of a model for test ids and tables."""
    parts = path.relative_to(ROOT).with_suffix("").parts
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
