"""What the runtime asks of a GPU's driver, and what it says where that fails: one that does nothing stands for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.targets.gpu.fake import Fake, built_driver
from tilewright import pipeline
from tilewright.codegen import folder
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType
from tilewright.ops.cumsum import CumSum
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

OWN = Path(__file__).parent
HINT = "compile with --target cpu"
FAILURES = {
    "no driver": ["there is no driver of an NVIDIA GPU on this machine: libcuda.so.1 is not found", HINT],
    "no device": ["the driver finds no NVIDIA GPU", HINT],
    "old device": ["the GPU is of compute capability 6.0, the network was compiled for 8.0 and newer", HINT],
    "no memory": [
        "the network needs 384 bytes, 0 of them for weights and 384 to compute in, 1000 of 2000 bytes are free",
        "the weights do not fit: end what else uses the GPU",
    ],
    "little memory": ["the GPU has not enough memory: the network needs 384 bytes", "the weights fit"],
    "old driver": ["the GPU's driver is too old for this code: it is for CUDA 12.2", HINT],
    "bad code": ["the GPU's driver cannot compile a kernel: ptxas: line 7", "please report it"],
    "lost": ["the GPU's driver fails to compute: illegal address (error 700)", "--target cpu"],
}


def built_program(place: Path, definitions: Sequence[str] = ()) -> Path:
    """Two layers of the GPU around one of the processor, as a folder that is built as a user's compiler does."""
    builder = Builder("one")
    (first,) = builder.add(Relu(), [builder.input("x", TensorType("float32", (20,)))])
    (summed,) = builder.add(CumSum(0), [first])
    (last,) = builder.add(Sigmoid(), [summed])
    builder.output(last, "y")
    folder.write(pipeline.compile_graph(builder.build(), "gpu").files, place / "c")
    example, calls, here = place / "c" / "main.c", OWN / "three_calls.c", ["-I", str(place / "c"), *definitions]
    sources = [example, calls, *(path for path in sorted((place / "c").rglob("*.c")) if path != example)]
    compiler, flags = find_compiler(), ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", *here]
    main, three, *objects = compile_objects(dict.fromkeys(sources, flags), place, compiler)
    for name, first in (("program", three), ("example", main)):
        link_without_runtime([first, *objects], ["m", "dl", "pthread"], place / name, compiler, ["-O1"])
    return place


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = built_program(tmp_path_factory.mktemp("gpu"))
    built_driver(place)
    return place


def said(program: Path, fake: str) -> list[str]:
    where = program / ("nowhere" if fake == "no driver" else "driver")
    environment = os.environ | {"LD_LIBRARY_PATH": str(where), "FAKE": fake, "FAKE_TALKS": "1"}
    done = subprocess.run([program / "program"], env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.in_turns(8)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("device", ["", "older device"])
def test_graphs_are_recorded_once(program: Path, device: str) -> None:
    """The first call launches, the second records two graphs, around the layer of the processor; then these are
    launched. Code and launches are for the device: older ones know neither clusters nor launches that overlap."""
    found = said(program, device)
    assert [line for line in found if line.startswith("call")] == [
        "call 0: 0, done, -1 us", "call 1: 0, done, 100 us", "call 2: 0, done, 100 us",
    ]  # fmt: skip
    counts = np.array([[int(word) for word in line.split() if word.isdigit()] for line in found if "launches" in line])
    assert counts[-1].tolist() == [4, 2 * 2 + 2 * 10 * 2, 0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fake", FAILURES)
def test_failures(program: Path, fake: str) -> None:
    what, hint = FAILURES[fake]
    text = "\n".join(said(program, fake))
    assert text.count(what) == 3
    assert hint in text


@pytest.mark.one_in(3)
def test_the_example_says_what_fails(program: Path) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(program / "driver"), "FAKE": "no device"}
    done = subprocess.run([program / "example"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the driver finds no NVIDIA GPU" in done.stderr
    assert HINT in done.stderr


@pytest.mark.parametrize(("trouble", "loads"), [("", 1), ("bad together", 2), ("driver of CUDA 12", 2)])
def test_kernels_are_compiled_together(fake: Fake, trouble: str, loads: int) -> None:
    """As one text; one by one where a driver does not take that, or is older than those that do so in threads."""
    builder = Builder("two")
    (first,) = builder.add(Relu(), [builder.input("x", TensorType("float32", (20,)))])
    builder.output(builder.add(Sigmoid(), [first])[0], "y")
    fake.fails(trouble)
    network, x, before = fake.load(builder.build()), np.linspace(-2, 2, 20, dtype=np.float32), fake.loads
    for _ in range(2):
        np.testing.assert_allclose(network(x), 1 / (1 + np.exp(-np.maximum(x, 0))), rtol=1e-6)
    assert fake.loads - before == loads


@pytest.mark.one_in(2)
def test_groups_that_begin_early_are_even(fake: Fake) -> None:
    """On ten multiprocessors: too few groups for that, one and several for each, and more than are made even."""
    for count in (700, 2000, 6000, 30000):
        builder = Builder("even")
        (first,) = builder.add(Relu(), [builder.input("x", TensorType("float32", (count,)))])
        builder.output(builder.add(Sigmoid(), [first])[0], "y")
        network, x = fake.load(builder.build()), np.linspace(-2, 2, count, dtype=np.float32)
        for _ in range(3):
            np.testing.assert_allclose(network(x), 1 / (1 + np.exp(-np.maximum(x, 0))), rtol=1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("trouble", "threads"), [("", 4), ("no buffers", 0)])
def test_many_weights_are_copied_by_threads(fake: Fake, trouble: str, threads: int) -> None:
    """Through buffers, where there is memory for these."""
    builder, size, before = Builder("large"), 2900, fake.opened_buffers
    weights = np.random.default_rng(1).standard_normal((size, size), np.float32)
    x = builder.input("x", TensorType("float32", (1, size)))
    product = builder.add(MatMul(trans_b=True), [x, builder.constant(weights)])
    builder.output(product[0], "y")
    fake.fails(trouble)
    network, given = fake.load(builder.build()), np.random.default_rng(2).standard_normal((1, size), np.float32)
    for _ in range(2):
        np.testing.assert_allclose(network(given), given @ weights.T, rtol=1e-3, atol=1e-3)
    assert fake.buffers == fake.contexts == 0
    assert fake.opened_buffers - before == threads


def test_layers_of_the_processor_find_zeros_where_a_copy_has_failed(fake: Fake) -> None:
    """Nothing that was there may be a place in an array."""
    builder = Builder("copied")
    (first,) = builder.add(Relu(), [builder.input("x", TensorType("float32", (20,)))])
    builder.output(builder.add(CumSum(0), [first])[0], "y")
    network, x, y = fake.load(builder.build()), np.ones(20, np.float32), np.empty(20, np.float32)
    network(x, out=y)
    assert y.tolist() == list(range(1, 21))
    fake.fails("lost")
    with pytest.raises(CompileError, match="illegal address"):
        network(x, out=y)
    assert not y.any()


@pytest.mark.parametrize("what", ["stream", "event"])
def test_what_cannot_be_opened_whole_is_given_back(fake: Fake, what: str) -> None:
    """Every call says the same, and the first one that the driver has room for computes."""
    builder = Builder("opened")
    builder.output(builder.add(Relu(), [builder.input("x", TensorType("float32", (20,)))])[0], "y")
    network, x, before = fake.load(builder.build()), np.linspace(-2, 2, 20, dtype=np.float32), fake.retained
    fake.fails(f"no second {what}")
    for _ in range(2):
        with pytest.raises(CompileError, match=rf"the GPU's driver fails to make an? {what}"):
            network(x)
        assert (fake.retained, fake.contexts) == (before, 0)
    fake.fails("")
    np.testing.assert_array_equal(network(x), np.maximum(x, 0))
