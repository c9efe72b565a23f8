"""Files compiled by Vela, run on the model of the NPU. What needs it is skipped where Vela is not installed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tflite

from tilewright.ir.types import Array
from tilewright.sim.ethos_u.npu import EthosU, Region
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.targets.ethos_u.corrections import corrected
from tilewright.targets.ethos_u.vela import DATABASE

TYPES = {0: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8"}
REASON = "pip install 'tilewright[ethos-u]'"


class VelaError(Exception):
    """What Vela says where it ends without a file."""


def compiled(data: bytes, npu: str, options: Sequence[str] = ()) -> bytes:
    """The file that Vela writes; what it prints is left out."""
    with TemporaryDirectory() as name:
        vela_files(data, npu, Path(name), options)
        return (Path(name) / "network_vela.tflite").read_bytes()


def as_compiled(data: bytes, npu: str, options: Sequence[str] = ()) -> bytes:
    """The same with TensorFlow Lite's numbers, as the compiler takes it."""
    with TemporaryDirectory() as name:
        vela_files(data, npu, Path(name), (DATABASE, *options))
        made = (Path(name) / "network_vela.tflite").read_bytes()
        return corrected(data, made, (Path(name) / "network_debug.xml").read_text(encoding="utf-8"))


def vela_files(data: bytes, npu: str, folder: Path, options: Sequence[str] = ()) -> None:
    """All that Vela writes of `network.tflite`: also its estimates."""
    vela: Any = pytest.importorskip("ethosu.vela.vela", reason=REASON)
    path, silent = folder / "network.tflite", io.StringIO()
    path.write_bytes(data)
    words = [str(path), "--accelerator-config", npu, "--output-dir", str(folder), *options]
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            vela.main(words)
    except (SystemExit, Exception) as error:
        raise VelaError(f"{type(error).__name__}: {error}") from None


@dataclass
class Compiled:
    """A file of Vela's whose operators may all be the NPU's."""

    data: bytes

    def __post_init__(self) -> None:
        self.model = tflite.Model.GetRootAsModel(self.data, 0)
        self.graph = self.model.Subgraphs(0)
        self.operators = [self.graph.Operators(k) for k in range(self.graph.OperatorsLength())]
        self.tensors = [self.graph.Tensors(k) for k in range(self.graph.TensorsLength())]

    def is_whole(self) -> bool:
        """Whether nothing is left to a CPU."""
        codes = [self.model.OperatorCodes(one.OpcodeIndex()).CustomCode() for one in self.operators]
        return bool(codes) and set(codes) == {b"ethos-u"}

    def shape(self, tensor: int) -> tuple[int, ...]:
        found = self.tensors[tensor]
        return tuple(found.Shape(k) for k in range(found.ShapeLength()))

    def dtype(self, tensor: int) -> np.dtype[Any]:
        return np.dtype(TYPES[self.tensors[tensor].Type()])

    def bytes(self, tensor: int) -> int:
        return int(np.prod(self.shape(tensor), dtype=np.int64)) * self.dtype(tensor).itemsize

    def constant(self, tensor: int) -> Array:
        buffer = self.model.Buffers(self.tensors[tensor].Buffer())
        return buffer.DataAsNumpy().copy() if buffer.DataLength() else np.zeros(0, np.uint8)

    def offsets(self) -> list[int]:
        """Of tensors in the arena, -1 for those that are not there."""
        entries = [self.model.Metadata(k) for k in range(self.model.MetadataLength())]
        (entry,) = [one for one in entries if one.Name() == b"OfflineMemoryAllocation"]
        words = self.model.Buffers(entry.Buffer()).DataAsNumpy().view("<i4")
        return [int(word) for word in words[3 : 3 + words[2]]]


def results(data: bytes, npu: str, inputs: Sequence[Array]) -> list[Array]:
    """What the model of the NPU computes for a file of Vela's that is the NPU's as a whole."""
    file = Compiled(data)
    offsets = file.offsets()
    size = max([at + file.bytes(k) for k, at in enumerate(offsets) if at >= 0], default=0) + 16
    arena = Region(np.zeros(size, np.uint8), np.zeros(size, np.uint8))
    assert arena.written is not None
    for position, values in enumerate(inputs):
        at, row = offsets[file.graph.Inputs(position)], np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        arena.bytes[at : at + row.size], arena.written[at : at + row.size] = row, 1
    for operator in file.operators:
        _run(file, npu, operator, arena)
    found = []
    for position in range(file.graph.OutputsLength()):
        tensor = file.graph.Outputs(position)
        at, size = offsets[tensor], file.bytes(tensor)
        assert arena.written[at : at + size].all(), "an output was not written"
        found.append(arena.bytes[at : at + size].view(file.dtype(tensor)).reshape(file.shape(tensor)))
    return found


def _run(file: Compiled, npu: str, operator: Any, arena: Region) -> None:
    """The operator's first tensors: stream, constants, arena, and a fast memory of its own, which may be empty."""
    stream = read_payload(file.constant(operator.Inputs(0)).tobytes(), "stream")
    assert stream.npu == npu
    fast = file.bytes(operator.Inputs(3))
    regions = {0: Region(file.constant(operator.Inputs(1)), is_constant=True), 1: arena, 2: arena}
    if fast:
        regions[2] = Region(np.zeros(fast, np.uint8), np.zeros(fast, np.uint8))
    EthosU(npu).run(stream.words, regions)
