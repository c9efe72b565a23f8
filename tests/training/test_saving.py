"""Weights outlive the power, whenever it fails."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.training.line import WEIGHTS, line
from tilewright.errors import CompileError
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime
from tilewright.training.compiling import compile_training
from tilewright.training.folder import HEADER_BYTES, LearnerC
from tilewright.training.host_session import HostSession
from tilewright.training.session import write_sources

X = np.array([1, 2, 3, 4], np.float32)


@pytest.fixture(scope="module")
def model() -> LearnerC:
    return LearnerC(compile_training(line()))


def learned(session: HostSession) -> None:
    session.train({"x": X, "label": X * 0})
    session.update()


@pytest.mark.in_turns(3)
def test_saved_weights_are_loaded_by_another_run(model: LearnerC) -> None:
    one, kept = HostSession(model), bytearray(2 * model.slot_bytes)
    learned(one)
    one.save(kept)
    other = HostSession(model)
    np.testing.assert_array_equal(other.state("w"), WEIGHTS)
    other.load(bytes(kept))
    np.testing.assert_array_equal(other.state("w"), one.state("w"))


def test_gradients_are_not_saved(model: LearnerC) -> None:
    one, kept = HostSession(model), bytearray(2 * model.slot_bytes)
    one.save(kept)
    one.train({"x": X, "label": X * 0})
    one.load(bytes(kept))
    with pytest.raises(CompileError, match="no step was made since the last one"):
        one.update()


@pytest.mark.in_turns(8)
def test_a_power_cut_at_every_byte_leaves_older_weights(model: LearnerC, tmp_path: Path) -> None:
    write_sources(model, tmp_path, {"cut.c": (Path(__file__).parent / "cut.c").read_text()})
    flags = ["-std=c99", "-O1", "-g0", "-fPIC", "-I.", "-DTW_LEARNER_WRITE=cut_write"]
    sources = {path: flags for path in sorted(tmp_path.rglob("*")) if path.suffix in (".c", ".S")}
    compiler = find_compiler(None)
    objects, made = compile_objects(sources, tmp_path, compiler), tmp_path / "cut.so"
    link_without_runtime(objects, ("m",), made, compiler, ["-shared"])
    c = ctypes.CDLL(str(made))
    c.line_memory_at.restype = ctypes.c_void_p
    cut, kept = ctypes.c_long.in_dll(c, "cut_after"), (ctypes.c_char * (2 * model.slot_bytes))()
    weights = (ctypes.c_float * 4).from_address(c.line_memory_at(ctypes.c_uint32(model.learner.offset("w"))))

    def save(value: float, after: int) -> int:
        weights[0], cut.value = value, after
        return int(c.cut_save(kept))

    assert c.line_reset() == 0
    assert c.line_load(kept) == -4
    assert save(1.0, -1) == 0
    older, newer = 1.0, 2.0
    for after in range(HEADER_BYTES * 2 + model.states_bytes):
        assert save(newer, after) == 9
        weights[0] = -1.0
        assert c.line_load(kept) == 0
        assert weights[0] in (older, newer)
        # Only the last bytes make the newer ones whole.
        assert weights[0] == older or after > HEADER_BYTES + model.states_bytes
        assert save(newer, -1) == 0
        assert c.line_load(kept) == 0
        assert weights[0] == newer
        older, newer = newer, newer + 1.0


@pytest.mark.parametrize("place", ["header", "states"])
def test_a_damaged_copy_is_passed_over(model: LearnerC, place: str) -> None:
    one, kept = HostSession(model), bytearray(2 * model.slot_bytes)
    one.save(kept)
    learned(one)
    one.save(kept)
    kept[model.slot_bytes + {"header": 9, "states": HEADER_BYTES + 2}[place]] ^= 4
    one.load(bytes(kept))
    np.testing.assert_array_equal(one.state("w"), WEIGHTS)
    kept[{"header": 9, "states": HEADER_BYTES + 2}[place]] ^= 4
    with pytest.raises(CompileError, match="hold nothing that was saved whole"):
        one.load(bytes(kept))


@pytest.mark.in_turns(3)
def test_weights_of_another_version_are_refused(model: LearnerC) -> None:
    one, kept = HostSession(LearnerC(compile_training(line(rate=0.2)))), bytearray(2 * model.slot_bytes)
    one.save(kept)
    with pytest.raises(CompileError, match="are of another network, or of another version of this one"):
        HostSession(model).load(bytes(kept), "weights.bin")


def test_weights_of_another_size_are_refused(model: LearnerC) -> None:
    with pytest.raises(CompileError, match=r"weights.bin: are of another network.* 5 bytes, where this network keeps"):
        HostSession(model).load(bytes(5), "weights.bin")
