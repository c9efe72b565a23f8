"""What TorchInductor has compiled in advance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from runner import Compute
from torch._inductor import aoti_load_package


def load(path: Path, threads: int) -> Compute:
    torch.set_num_threads(threads)
    model = aoti_load_package(str(path))

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        with torch.inference_mode():
            found = model(*map(torch.from_numpy, inputs))
        return [value.numpy() for value in (found if isinstance(found, tuple | list) else [found])]

    return compute
