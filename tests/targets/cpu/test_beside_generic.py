"""Whatever `generic` takes, `cpu` takes: every kernel of its own, and weights that are stored in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.cpu.machine import run_graph
from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType, element
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.target.processors import NATIVE, PROCESSORS
from tilewright.targets.cpu.target import for_processor
from tilewright.targets.generic import target as generic

AROUND = (1, 1, 1, 1)
LAYERS: tuple[tuple[Op, tuple[int, ...], tuple[int, ...]], ...] = (
    (Conv(padding=AROUND), (1, 16, 12, 12), (32, 16, 3, 3)),
    (Conv(), (1, 8, 6, 5), (12, 8, 1, 1)),
    (Conv(padding=AROUND, groups=16), (1, 16, 12, 12), (16, 1, 3, 3)),
    (Conv(strides=(2, 2), groups=2), (1, 8, 9, 9), (6, 4, 3, 3)),
    (ConvTranspose(), (1, 4, 5, 5), (4, 6, 3, 3)),
    (MatMul(), (5, 64), (64, 48)),
    (MatMul(trans_b=True), (1, 64), (48, 64)),
    (MatMul(), (3, 5, 64), (3, 64, 48)),
)
LAST = tuple(
    (Conv(padding=AROUND, groups=groups, channels_last=True), (1, 7, 6, 16), (16, 3, 3, 16 // groups))
    for groups in (1, 2, 16)
)
"""TensorFlow Lite's order, which `generic` turns round before weights become short."""


def short(dtype: str, is_last: bool) -> tuple[Graph, dict[str, np.ndarray]]:
    random, builder, feeds = np.random.default_rng(3), Builder("halves"), dict[str, np.ndarray]()
    for op, x, w in LAST if is_last else LAYERS:
        name = builder.input(f"x{len(builder.inputs)}", TensorType("float32", x))
        feeds[name] = random.standard_normal(x).astype(np.float32)
        weights = builder.constant(random.standard_normal(w).astype(element(dtype)), "w")
        builder.output(builder.add(op, [name, weights])[0])
    if not is_last:
        table = builder.constant(random.standard_normal((9, 16)).astype(element(dtype)), "table")
        feeds[builder.input("places", TensorType("int64", (4,)))] = np.array([8, 0, 3, 3])
        builder.output(builder.add(Gather(), [table, "places"])[0])
    return builder.build(), feeds


@pytest.mark.fast
@pytest.mark.parametrize("processor", [NATIVE, *PROCESSORS])
def test_every_kernel_is_there(processor: str) -> None:
    kernels = {kernel for engine in for_processor(processor).engines for kernel in engine.kernels}
    assert kernels >= set(generic.KERNELS)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_in_16_bits_are_taken(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, feeds = short(dtype, is_last=False)
    pipeline.stage(graph, "generic", "schedule")
    run_graph(graph, feeds, NATIVE, monkeypatch, 1e-5)
    run_graph(*short(dtype, is_last=True), NATIVE, monkeypatch, 1e-5)
