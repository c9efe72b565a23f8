"""TorchInductor in the process: PATH/NETWORK, with models_def.py in the folder PATH."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import torch
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    torch.set_num_threads(threads)
    sys.path.append(str(path.parent))
    module = importlib.import_module("models_def").build(path.name)[0]
    model = torch.compile(module)

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            found = model(*map(torch.from_numpy, inputs))
        return [value.numpy() for value in (found if isinstance(found, tuple | list) else [found])]

    return compute
