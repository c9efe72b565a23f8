"""A whole file through Vela, held to what the file computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.npu_cases import CASES
from tests.support.tflite_cases import NONE, one
from tests.support.tflite_models import T, constant
from tilewright.errors import CompileError
from tilewright.targets.ethos_u import vela
from tilewright.targets.ethos_u.against_file import differences
from tilewright.targets.ethos_u.vela import ESTIMATE, MadeByVela, for_npu

REASON = "pip install 'tilewright[ethos-u]'"
NPU = "ethos-u55-128"


def added(zero: int) -> bytes:
    """Two tensors and their sum, with a zero point."""
    x = T("int8", (1, 4, 4, 8), 0.1, 3)
    result = T("int8", (1, 4, 4, 8), 0.15, zero)
    return one("ADD", [x, x], result, "AddOptions", FusedActivationFunction=NONE)


def test_equal_files_have_no_notes() -> None:
    assert differences(added(0), added(0), "network") == ()


def test_a_step_is_a_note() -> None:
    (note,) = differences(added(0), added(1), "network")
    assert note.startswith("Vela's streams give other results than the file: ")
    assert note.endswith("differ, by at most 1")


def test_other_results_are_an_error() -> None:
    with pytest.raises(CompileError, match=r"model 'network': Vela's streams give other results .* by at most 40"):
        differences(added(0), added(40), "network")


def test_indices_are_not_drawn() -> None:
    given = [T("int8", (9, 4), 0.1, 0), T("int32", (2,))]
    data = one("GATHER", given, T("int8", (2, 4), 0.1, 0), "GatherOptions", Axis=0)
    (note,) = differences(data, data, "network")
    assert "nobody has compared Vela's streams with the file: its input 't1' is int32" in note


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ["conv", "depthwise16", "softmax", "relu16"])
def test_vela_is_right(name: str) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    assert for_npu(NPU, CASES[name](np.random.default_rng(5)))[1] == (ESTIMATE,)


@pytest.mark.in_turns(3)
def test_a_stream_that_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is that of another file."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    real = vela.compiled_by_vela

    def of_another(npu: str, data: bytes, stem: str, goal: str) -> MadeByVela:
        return real(npu, added(40), stem, goal)

    monkeypatch.setattr(vela, "compiled_by_vela", of_another)
    monkeypatch.setattr(MadeByVela, "is_checked", lambda made: False)
    with pytest.raises(CompileError, match="Vela's streams give other results than the file"):
        for_npu(NPU, added(0))


@pytest.mark.in_turns(3)
def test_an_operator_without_channels_is_named() -> None:
    """Vela says of such a file that it cannot be parsed."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    weights, bias = constant(np.zeros((0, 1, 1, 4), np.int8), 0.01), constant(np.zeros(0, np.int32), 0.0005)
    tensors = [T("int8", (1, 8, 8, 4), 0.05, 0), weights, bias]
    data = one("CONV_2D", tensors, T("int8", (1, 8, 8, 0), 0.1, 0), "Conv2DOptions", 3, StrideH=1, StrideW=1)
    with pytest.raises(CompileError, match=r"CONV_2D\): input 1 has shape \[0, 1, 1, 4\]"):
        for_npu(NPU, data)


def test_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of tensors may hold anything; files that a power cut has left empty or cut, or that changed, are made
    again, and others are not."""
    left, runs = [("Softmax", "a\x0bb\rc\td", "its why")], list[bytes]()

    def compiled(npu: str, data: bytes, stem: str, goal: str) -> tuple[bytes, Sequence[Sequence[str]]]:
        runs.append(data)
        return b"made by Vela", left

    monkeypatch.setattr(vela, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(vela, "_version", lambda: b"1")
    monkeypatch.setattr(vela, "_compiled", compiled)

    def check(times: int) -> None:
        made = vela.compiled_by_vela(NPU, b"given", "network")
        assert (made.data, made.left, len(runs)) == (b"made by Vela", (vela.Left(*left[0]),), times)

    check(1)
    check(1)
    damages = [(name, change) for name in (vela.NOTES, "network.tflite") for change in (lambda _: b"", _cut, _changed)]
    for times, (name, change) in enumerate(damages, 2):
        (path,) = tmp_path.rglob(name)
        path.write_bytes(change(path.read_bytes()))
        check(times)
        check(times)


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _changed(data: bytes) -> bytes:
    """One byte in the middle, which is part of a digest there."""
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
