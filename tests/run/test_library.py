"""A network as a library in this process."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType, element
from tilewright.ops.cast import Cast
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program
from tilewright.run.library import LoadedNetwork
from tilewright.target import processors
from tilewright.target.processors import PROCESSORS, SSE, check_processor, check_runs_here, processor_flags, vectors_of
from tilewright.target.settings import Settings


def two_outputs() -> Graph:
    builder = Builder("two")
    x = builder.input("x", TensorType("float32", (4, 8)))
    w = builder.constant(np.random.default_rng(0).standard_normal((8, 5)).astype(np.float32))
    y = builder.add(MatMul(), [x, w])[0]
    builder.output(y)
    builder.output(builder.add(Relu(), [y])[0])
    return builder.build()


def program(target: str = "cpu", settings: Settings | None = None) -> Program:
    return Program(Compiled(*stages(two_outputs(), target, "net", settings or Settings())), "net", None, 0.0)


@pytest.fixture(scope="module")
def made() -> Program:
    return program()


@pytest.fixture
def x() -> Array:
    return np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)


def test_gives_what_a_run_gives(made: Program, x: Array) -> None:
    found, expected = made.load()(x), made.run(x)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_arrays_of_all_kinds_give_the_same(made: Program, x: Array) -> None:
    """Those that are looked at quickly, and those that are looked at closely."""
    f = made.load()
    expected, read_only = f(x), x.copy()
    read_only.flags.writeable = False
    for given in (read_only, x.copy().view(type("Named", (np.ndarray,), {}))):
        assert np.array_equal(f(given), expected)
    out = [np.zeros((4, 5), np.float32), np.zeros((4, 5), np.float32)]
    found = f(x, out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    assert np.array_equal(out, expected)


def test_outputs_that_overlap_are_refused(made: Program, x: Array) -> None:
    f, memory = made.load(), np.zeros(100, np.float32)
    first, second = memory[:20].reshape(4, 5), memory[19:39].reshape(4, 5)
    with pytest.raises(CompileError, match="shares memory"):
        f(x, out=[first, second])
    with pytest.raises(CompileError, match="shares memory"):
        f(memory[:32].reshape(4, 8), out=[np.zeros((4, 5), np.float32), second])
    assert np.array_equal(f(x, out=[first, memory[20:40].reshape(4, 5)]), f(x))


def test_writes_outputs_where_they_are(made: Program, x: Array) -> None:
    out = [np.zeros((4, 5), np.float32), np.zeros((4, 5), np.float32)]
    found = made.load()(x=x, out=out)
    assert found[0] is out[0]
    assert np.array_equal(np.maximum(out[0], 0), out[1])


def test_threads_with_contexts_of_their_own(made: Program) -> None:
    loaded, failed = made.load(), list[int]()

    def work(number: int) -> None:
        own, value = loaded.context(), np.full((4, 8), number, np.float32)
        expected = own(value)[0].copy()
        if not all(np.array_equal(own(value)[0], expected) for _ in range(50)):
            failed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda x: x.astype(np.float64), "is float64 4x8, not"),
        (lambda x: x[:2], "is float32 2x8, not"),
        (lambda x: np.asfortranarray(x), "is not contiguous"),
        (lambda x: x.tolist(), "is list, not a numpy array"),
        (lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape), "is not aligned"),
    ],
)
def test_wrong_inputs_are_named(made: Program, x: Array, wrong: object, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        made.load()(wrong(x))  # type: ignore[operator]


def test_wrong_calls_are_named(made: Program, x: Array) -> None:
    loaded = made.load()
    fixed = np.zeros((4, 5), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(CompileError, match="the inputs are x"):
        loaded()
    with pytest.raises(CompileError, match="1 arrays and x were given"):
        loaded(x, x=x)
    with pytest.raises(CompileError, match="out is int"):
        loaded(x, out=3)  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="out has 1 arrays"):
        loaded(x, out=fixed)
    with pytest.raises(CompileError, match="is read-only"):
        loaded(x, out=[fixed, fixed])
    both = np.zeros((4, 5), np.float32)
    with pytest.raises(CompileError, match="shares memory"):
        loaded(x, out=[both, both])


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (np.zeros((4, 5), np.float64), "out .* is float64 4x5, not"),
        (np.zeros((5, 4), np.float32), "out .* is float32 5x4, not"),
        (np.zeros((4, 10), np.float32)[:, ::2], "out .* is not contiguous"),
    ],
)
def test_wrong_outputs_are_named(made: Program, x: Array, wrong: Array, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        made.load()(x, out=[wrong, np.zeros((4, 5), np.float32)])


def test_calls_of_one_context_wait_for_each_other(made: Program) -> None:
    loaded, failed = made.load(), list[int]()
    values = [np.full((4, 8), number, np.float32) for number in range(4)]
    expected = [loaded(value)[1].copy() for value in values]

    def work(number: int) -> None:
        if not all(np.array_equal(loaded(values[number])[1], expected[number]) for _ in range(100)):
            failed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_copy_of_the_process_waits_for_nobody(made: Program, x: Array) -> None:
    """The thread that was in a call is not there."""
    loaded = made.load()
    with loaded._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if len(loaded(x)) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_a_network_takes_of_the_machine(made: Program, x: Array) -> None:
    ran, schedule = made.run(x, repeats=5), made.compiled.schedule
    here = ran.here
    assert here is not None
    assert here.threads == 1
    assert here.library_bytes == made.load().library_bytes
    assert 0 < here.library_bytes - schedule.constant_bytes < 300_000
    assert 0 < here.resident_bytes - schedule.constant_bytes - schedule.arena_bytes < 4 * 2**20
    assert 0 < here.fastest_seconds <= ran.seconds


def test_a_simulated_target_is_not_loaded() -> None:
    with pytest.raises(CompileError, match="does not run in this process"):
        program("quad").load()


def test_processors() -> None:
    assert check_processor("v3") == "x86-64-v3"
    assert check_processor("sapphirerapids") == "x86-64-v4+amx"
    assert processor_flags("x86-64-v4+vnni", False) == ("-march=x86-64-v4", "-mavx512vnni")
    assert vectors_of("x86-64-v4+amx").has_tiles
    assert vectors_of("x86-64-v3+avxvnni").bytes == 32
    with pytest.raises(CompileError, match="is unknown"):
        check_processor("z80")
    foreign = next(name for name, one in PROCESSORS.items() if one.machine != platform.machine())
    with pytest.raises(CompileError, match="this machine is"):
        check_runs_here(foreign)
    with pytest.raises(CompileError, match="is for target cpu, not for generic"):
        program("generic", Settings(cpu="v3"))


def test_what_this_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(processors, "_features", lambda: SSE)
    check_runs_here("x86-64-v2")
    with pytest.raises(CompileError, match="this machine lacks avx, avx2, bmi1"):
        check_runs_here("x86-64-v3")


def test_tiles_that_the_kernel_refuses_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(f"flags : {' '.join(processors.TILES)}\n")
    monkeypatch.setattr(processors, "Path", lambda name: told)
    for is_permitted, tiles in ((True, True), (False, False)):
        monkeypatch.setattr(processors, "_tiles_are_permitted", lambda said=is_permitted: said)
        with contextlib.nullcontext() if is_permitted else pytest.warns(UserWarning, match="refuses AMX"):
            found = processors._features.__wrapped__()
        assert (found >= processors.TILES) == tiles
        assert found >= processors.VNNI


def test_the_folder_builds_for_the_processor() -> None:
    text = program(settings=Settings(cpu="x86-64-v3")).files["CMakeLists.txt"]
    assert "add_library(net_network\n" in text
    assert "-O3 -march=x86-64-v3" in text


def test_a_folder_for_another_machine_has_its_toolchains(tmp_path: Path) -> None:
    made = program(settings=Settings(cpu="spacemit-x60"))
    assert (
        "-O3 $<IF:$<BOOL:${ZIG_CPU}>,-mcpu=${ZIG_CPU},-march=rv64gcv_zba_zbb_zbs_zvfhmin_zvl256b>"
        in made.files["CMakeLists.txt"]
    )
    assert "set(ZIG_CPU baseline_rv64+v+zba+zbb+zbs+zvfhmin+zvl256b)" in made.files["cmake/zig.cmake"]
    assert "qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=256)" in made.files["cmake/gcc.cmake"]
    for _ in range(2):  # it is one of ours, and replaced
        made.save(tmp_path / "c")


def test_threads_that_load_at_once_make_one_library(x: Array) -> None:
    made, loaded = program(), list[LoadedNetwork]()
    threads = [threading.Thread(target=lambda: loaded.append(made.load())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.library for one in loaded}) == 1
    assert all(np.array_equal(one(x)[0], loaded[0](x)[0]) for one in loaded)


def test_an_input_may_be_called_out(x: Array) -> None:
    builder = Builder("named")
    builder.output(builder.add(Relu(), [builder.input("out", TensorType("float32", (4, 8)))])[0])
    loaded = Program(Compiled(*stages(builder.build(), "cpu", "net", Settings())), "net", None, 0.0).load()
    assert np.array_equal(loaded(out=x), np.maximum(x, 0))


def test_elements_that_numpy_has_from_a_package() -> None:
    builder = Builder("short")
    builder.output(builder.add(Cast("float32"), [builder.input("x", TensorType("bfloat16", (3,)))])[0])
    loaded = Program(Compiled(*stages(builder.build(), "cpu", "net", Settings())), "net", None, 0.0).load()
    x = np.array([-1.0, 0.0, 2.0]).astype(element("bfloat16"))
    assert loaded(x).tolist() == [-1.0, 0.0, 2.0]


def test_a_program_says_what_it_is(made: Program) -> None:
    assert repr(made) == "<Program 'net' for cpu: 2 layers>"
