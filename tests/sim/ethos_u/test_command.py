"""`tilewright sim --platform ethos-u55-128 stream.bin`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import ARENA, MAX, Stream
from tests.sim.ethos_u.test_streams import some
from tests.support.command import Command
from tilewright.ir.types import Array

SHAPE = (4, 4, 8)
COP1 = int.from_bytes(b"COP1", "little")


def stream() -> Array:
    code = Stream().map("IFM", 0, SHAPE, "int8").map("OFM", 128, SHAPE, "int8").kernel(1, 1)
    return code.finish("int8", scale=None).op("POOL", MAX).done()


def as_payload(words: Array, macs: int) -> Array:
    """As a driver is given it: for an Ethos-U55, with words that fill up."""
    head = [COP1, 1 | 0x10 << 16, macs.bit_length() - 1, 0, 5, 5, 5, 2 | len(words) << 16]
    return np.concatenate([np.array(head, np.uint32), words])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "stream.bin").write_bytes(stream().tobytes())
    (tmp_path / "payload.bin").write_bytes(as_payload(stream(), 128).tobytes())
    (tmp_path / "memory.bin").write_bytes(some(1, SHAPE).tobytes() + bytes(128))
    return tmp_path


@pytest.mark.parametrize("name", ["stream.bin", "payload.bin"])
def test_a_stream_alone(name: str, files: Path, command: Command) -> None:
    words = ["sim", str(files / name), "--platform", "ethos-u55-128", "--json"]
    memory = ["--region", f"{ARENA}={files / 'memory.bin'}", "--output", f"{ARENA}={files / 'after.bin'}"]
    printed = command(*words, *memory).json
    assert (printed["operations"], printed["elements"]) == (1, 128)
    after = (files / "after.bin").read_bytes()
    assert after[128:] == after[:128] == some(1, SHAPE).tobytes()


def test_refusals(files: Path, command: Command) -> None:
    def refused(*words: str | Path) -> str:
        ran = command("sim", *words)
        assert ran.code == 2
        return ran.err

    plain, payload = files / "stream.bin", files / "payload.bin"
    on = ("--platform", "ethos-u55-128")
    assert "region 1, which was never written" in refused(plain, *on, "--region", "1=256")
    assert "region 1 is used, and there is none" in refused(plain, *on)
    assert "was compiled for ethos-u55-128" in refused(payload, "--platform", "ethos-u65-256")
    assert "names no region from 0 to 7" in refused(plain, *on, "--region", "8=1")
    assert "names no region from 0 to 7" in refused(plain, *on, "--region", "²=1")
    assert "cannot be read" in refused(plain, *on, "--region", "1=²")
    assert "there is no region 2" in refused(plain, *on, "--output", "2=x")
    assert "is not supported by ethos-u55-128" in refused(plain, *on, "--gdb", "4711")
    assert "is not supported by siracusa" in refused(plain, "--region", "1=1")
    assert "is not simulated" in refused(plain, "--platform", "ethos-u85-256")
    (files / "odd.bin").write_bytes(b"abc")
    assert "has 3 bytes, which are no 32-bit words" in refused(files / "odd.bin", *on)
    (files / "net.tflite").write_bytes(b"\0\0\0\0TFL3" * 2)
    assert "is a TensorFlow Lite file" in refused(files / "net.tflite", *on)
    (files / "head.bin").write_bytes(as_payload(stream(), 128)[:9].tobytes())
    assert "which is no driver action" in refused(files / "head.bin", *on)
    assert "cannot be read" in refused(files / "none.bin", *on)
