"""Times of layers on a GPU, and of its kernels as C."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.targets.gpu.conftest import fake
from tests.targets.gpu.fake import Fake
from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.cumsum import CumSum
from tilewright.ops.matmul import MatMul
from tilewright.profiling.profile import Profile
from tilewright.profiling.saved import read_profile
from tilewright.profiling.trace import write_trace
from tilewright.program import Program
from tilewright.report.profile import print_profile
from tilewright.target import runner

__all__ = ["fake"]


def product() -> Graph:
    builder = Builder("product")
    x = builder.input("x", TensorType("float32", (16, 32)))
    weights = builder.constant(np.ones((32, 64), np.float32), "weights")
    (y,) = builder(MatMul(), [x, weights])
    (z,) = builder(CumSum(0), [y])
    builder.output(z, "z")
    return builder.build()


def shown(profile: Profile) -> str:
    text = io.StringIO()
    print_profile(Console(file=text, width=200), profile)
    return text.getvalue()


def test_on_a_gpu(fake: Fake, tmp_path: Path) -> None:
    """Every launch of the driver that stands for one takes a millisecond for twenty; it gives 100 bytes and makes 1280
    products of floats in a nanosecond."""
    found = fake.program(product()).profile({"x": np.ones((16, 32), np.float32)})
    layers = {layer.operator: layer for layer in found.profile.layers}
    assert list(layers) == ["Upload", "MatMul", "Download", "CumSum"]
    matmul = layers["MatMul"]
    assert (matmul.cycles, matmul.touched) == (50_000, 4 * (16 * 32 + 32 * 64 + 16 * 64))
    assert matmul.peak_share == pytest.approx(16 * 32 * 64 / 50_000 / 1280)
    assert matmul.bandwidth_share == pytest.approx(matmul.touched / 50_000 / 100)
    assert layers["CumSum"].peaks is None
    text = shown(found.profile)
    assert "of peak  of bandwidth" in text
    assert "times are of GPU 0: kernels by events, each twenty times in a row in a graph" in text
    write_trace(tmp_path / "trace.json", found)
    assert "CumSum" in (tmp_path / "trace.json").read_text()
    (tmp_path / "profile.json").write_text(json.dumps({**found.profile.as_dict(), "memory": [], "notes": []}))
    assert read_profile(tmp_path / "profile.json").profile.layers[1].peaks == matmul.peaks


@pytest.mark.skipif(runner.has_driver(), reason="a driver is installed")
def test_as_c() -> None:
    program = Program(pipeline.compile_graph(product(), "gpu"), "", None, 0.0)
    text = shown(program.profile({"x": np.ones((16, 32), np.float32)}).profile)
    assert "kernels of the GPU as C, as no driver of a GPU is installed" in text
    assert "predicted" not in text
    assert "GB/s" in text
