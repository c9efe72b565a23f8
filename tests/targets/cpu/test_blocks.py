"""Weights in blocks as panels: packed and back, and kernels for vectors of every kind against what they mean."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.block_cases import blocks, product
from tests.support.checks import Case, check_graph
from tests.targets.cpu.machine import PROCESSORS_TESTED, needs, run_graph, run_on
from tilewright.errors import present
from tilewright.ir.block_formats import FORMATS
from tilewright.ir.graph import Builder
from tilewright.ir.types import Array, TensorType
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_FLOATS, BlockMatMul
from tilewright.target.processors import NATIVE, Dot, vectors_of
from tilewright.target.settings import Settings
from tilewright.targets.cpu.block_packing import FLOATS, LAYOUTS, Panels

NAMES = (*LAYOUTS, *FLOATS)
ROUNDING = 2e-6
"""Of sums of floats, of the largest result."""


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_packed_and_back(name: str) -> None:
    """Rows that fill no panel, scales that fill no line."""
    inner = 3 * max(FORMATS[name].elements, 32)
    for rows in (8, 16, 32):
        for count in (1, 8, 37):
            raw = blocks(default_rng(count), name, count, inner)
            panels = Panels(name, rows, is_unsigned=rows == 16, is_apart=rows == 32)
            packed = panels.pack(raw)
            assert packed.shape == (-(-count // rows), panels.panel_bytes(inner))
            wanted = FORMATS[name].values(raw)
            np.testing.assert_allclose(panels.values(packed, count, inner), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.fast
def test_packed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = blocks(default_rng(0), "Q6_K", 100, 256)
    whole = Panels("Q6_K", 8).pack(raw)
    monkeypatch.setattr("tilewright.targets.cpu.block_packing.CHUNK", 1)
    np.testing.assert_array_equal(Panels("Q6_K", 8).pack(raw), whole)


def cases(random: Generator, name: str) -> list[Case]:
    """All ways through kernels: one row, few, whole tiles and what is left of them, panels that are not full."""
    least = max(FORMATS[name].elements, 32)
    found = [product(random, name, rows, least, columns) for rows, columns in ((1, 33), (3, 7), (17, 40), (6, 5))]
    found += [product(random, name, 9, 3 * least, 16), product(random, name, 1, 3 * least, 16)]
    return found if name in FLOATS else [*found, extremes(random, name), product(random, name, 2, 256, 5, OF_FLOATS)]


def extremes(random: Generator, name: str) -> Case:
    """The largest and smallest levels and scales; rows of zeros, one large element, tiny ones, what is no number."""
    inner = max(FORMATS[name].elements, 64)
    raw = np.concatenate([np.full_like(some := blocks(random, name, 3, inner, 6e4), 255), some * 0 + 128, some])
    for at in FORMATS[name].scales:
        own = raw.reshape(9, -1, FORMATS[name].bytes)[:, :, at : at + 2]
        own[:] = np.float16(-65504.0 if at else 65504.0).reshape(1).view(np.uint8)
    x = np.zeros((7, inner), np.float32)
    x[1], x[2, 3], x[3], x[4], x[5, 1], x[6, 2] = 1.0, 3e4, 1e-32, np.linspace(-1, 1, inner), np.nan, -np.inf
    return BlockMatMul(name), [x, raw, None]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("processor", [*PROCESSORS_TESTED, pytest.param("neoverse-v1", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", NAMES)
def test_kernels(name: str, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(processor)
    used = run_on(cases(default_rng(7), name), processor, monkeypatch, tolerance=ROUNDING)
    plain = {"block_matmul"} if name in LAYOUTS or not has_dots(processor) else set()
    assert used == plain | ({f"block_{name.lower()}"} if has_dots(processor) else set())


def has_dots(processor: str) -> bool:
    return vectors_of(processor.removeprefix("like ")).dot is not Dot.NONE


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("name", NAMES)
def test_words_are_looked_up_in_the_panels_of_the_head(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if vectors_of(NATIVE).dot is Dot.NONE:
        pytest.skip("weights stay as they are")
    random, builder, inner = default_rng(2), Builder("tied"), max(FORMATS[name].elements, 32)
    builder.constant(blocks(random, name, 21, inner), "embedding")
    ids, x = builder.input("ids", TensorType("int32", (1, 3))), builder.input("x", TensorType("float32", (1, inner)))
    builder.output(*builder.add(BlockGather(name), ["embedding", ids], name="words"))
    builder.output(*builder.add(BlockMatMul(name), [x, "embedding"], name="head"))
    feeds = {"ids": np.array([[0, 20, 9]], np.int32), "x": random.standard_normal((1, inner)).astype(np.float32)}
    used = run_graph(builder.build(), feeds, NATIVE, monkeypatch, ROUNDING)
    assert used == {"block_panel_gather", f"block_{name.lower()}"}


def test_all_threads_have_a_share() -> None:
    """Panels with few rows, rows with many."""
    random, builder, feeds = default_rng(4), Builder("shared"), dict[str, Array]()
    for rows in (1, 3, 17, 40):
        op, (x, weights, _) = product(random, "Q4_0", rows, 64, 37)
        name = builder.input(f"x{rows}", TensorType("float32", (rows, 64)))
        stored = builder.constant(present(weights, "case", "has no weights"), f"w{rows}")
        builder.output(*builder.add(op, [name, stored], name=f"rows{rows}"))
        feeds[name] = present(x, "case", "has no rows")
    check_graph(builder.build(), feeds, ROUNDING, target="cpu", settings=Settings(threads=2))
