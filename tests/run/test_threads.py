"""Several threads compute a network, in C: the same results, whoever calls and however often."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import Command
from tests.support.processors import processor_of
from tilewright.errors import CompileError
from tilewright.export import save
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.transpose import Transpose
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program, compile_model
from tilewright.target.processors import check_threads_here
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import BARE, STRICT, build_program, find_compiler

pytestmark = pytest.mark.in_turns(6)

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
several = pytest.mark.skipif(PROCESSORS < 2, reason="needs two processors")
TWO = Settings(threads=2)


def network() -> Graph:
    """An uneven number of filters, working memory, a result that takes the place of an operand."""
    rng = np.random.default_rng(0)
    builder = Builder("network")
    x = builder.input("x", TensorType("float32", (1, 16, 24, 24)))
    w = builder.constant(rng.standard_normal((33, 16, 3, 3)).astype(np.float32))
    y = builder.add(Relu(), [builder.add(Conv(padding=(1, 1, 1, 1)), [x, w])[0]])[0]
    w = builder.constant(rng.standard_normal((24, 40)).astype(np.float32))
    builder.output(builder.add(MatMul(), [y, w])[0])
    return builder.build()


def program(settings: Settings) -> Program:
    return Program(Compiled(*stages(network(), "cpu", "net", settings)), "net", None, 0.0, settings=settings)


@pytest.fixture(scope="module")
def made() -> Program:
    return program(TWO)


@pytest.fixture(scope="module")
def x() -> Array:
    return np.random.default_rng(1).standard_normal((1, 16, 24, 24)).astype(np.float32)


@several
def test_threads_give_what_one_gives(made: Program, x: Array) -> None:
    expected, loaded = program(Settings()).run(x)[0], made.load()
    assert all(layer.tiles > 1 for layer in made.compiled.schedule.layers if not isinstance(layer.node.op, Transpose))
    assert np.array_equal(made.run(x, repeats=20)[0], expected)
    assert all(np.array_equal(loaded(x), expected) for _ in range(200))


@several
def test_pinned_threads_give_the_same(made: Program, x: Array) -> None:
    assert np.array_equal(program(replace(TWO, pins_threads=True)).load()(x), made.load()(x))


@several
def test_contexts_share_the_pool(made: Program, x: Array) -> None:
    loaded, failed = made.load(), list[int]()
    expected = loaded(x)

    def work(number: int) -> None:
        own = loaded.context()
        if not all(np.array_equal(own(x), expected) for _ in range(100)):
            failed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@several
def test_a_copy_of_the_process_computes_alone(made: Program, x: Array) -> None:
    loaded = made.load()
    expected = loaded(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(loaded(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.in_turns(8)
def test_the_folder_builds(made: Program, tmp_path: Path) -> None:
    made.save(tmp_path / "c")
    sources = sorted((tmp_path / "c").rglob("*.c"))
    flags = [*STRICT, *made.compiled.schedule.target.definitions, "-O1", f"-I{tmp_path / 'c'}"]
    build_program(sources, flags, ["m", "pthread"], tmp_path / "program", find_compiler(), ["-O1", BARE])
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert set(done.stdout.split()) == {"0"}


def test_one_thread_has_no_pool() -> None:
    files = program(Settings()).files
    assert not [name for name in files if "threads" in name]
    assert "thread" not in files["network.c"] + files["network.h"] + files["kernels/prefix.h"]


def test_each_network_has_a_pool_of_its_own(made: Program) -> None:
    assert "#define tw_parallel net_parallel" in made.files["kernels/prefix.h"]
    assert "Threads::Threads" in made.files["CMakeLists.txt"]


@pytest.mark.fast
def test_threads_beyond_the_machine_are_refused() -> None:
    with pytest.raises(CompileError, match=f"this process may use {PROCESSORS} processor"):
        check_threads_here(PROCESSORS + 1)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("target", "settings", "what"),
    [
        ("generic", TWO, "--threads 2: is for target cpu, not for generic"),
        ("cpu", Settings(threads=0), "--threads 0: is not 1 to 64"),
        ("cpu", Settings(threads=65), "--threads 65: is not 1 to 64"),
        ("cpu", Settings(pins_threads=True), "--pin: there is one thread"),
    ],
)
def test_threads_that_cannot_be(target: str, settings: Settings, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        list(stages(network(), target, "net", settings))


@several
def test_the_command_says_what_ran(command: Command, tmp_path: Path) -> None:
    save(network(), tmp_path / "model.onnx")
    said = command("run", tmp_path / "model.onnx", "--target", "cpu", "--threads", "2", "--repeat", "3", "--json").json
    assert said["threads"] == 2
    assert said["library_bytes"] > said["constant_bytes"]
    assert said["resident_bytes"] > said["arena_bytes"]
    assert said["run_seconds"] >= said["fastest_seconds"] > 0


def test_the_command_refuses_threads_beyond_the_machine(command: Command, tmp_path: Path) -> None:
    save(network(), tmp_path / "model.onnx")
    ran = command("run", tmp_path / "model.onnx", "--target", "cpu", "--threads", str(PROCESSORS + 1))
    assert ran.code == 2
    assert f"this process may use {PROCESSORS} processor" in ran.err


@several
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs a system that lists threads")
def test_the_pool_ends_with_the_last_that_is_called(x: Array) -> None:
    before, made = len(list(Path("/proc/self/task").iterdir())), program(TWO)
    first = made.load()
    second = first.context()
    del first
    second(x)
    assert len(list(Path("/proc/self/task").iterdir())) == before + 1
    del second
    assert len(list(Path("/proc/self/task").iterdir())) == before
    assert np.array_equal(made.load()(x), made.run(x)[0])


@several
def test_keywords_choose_processor_and_threads(tmp_path: Path) -> None:
    save(network(), tmp_path / "model.onnx")
    made = compile_model(tmp_path / "model.onnx", target="cpu", cpu="cortex-a76", threads=2, pin=True)
    target = made.compiled.schedule.target
    assert (processor_of(target), target.agents.threads, target.agents.pins_threads) == ("cortex-a76", 2, True)


def test_the_keyword_is_no_less_checked(tmp_path: Path) -> None:
    save(network(), tmp_path / "model.onnx")
    with pytest.raises(CompileError, match="is not 1 to 64"):
        compile_model(tmp_path / "model.onnx", target="cpu", threads=0)
