"""One NPU as an object: give it regions and a command stream, and it executes the stream or says what is wrong.

npu = EthosU("ethos-u55-128")
run = npu.run(stream, {0: Region(weights, is_constant=True), 1: Region(scratch, written)})
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import Configuration, find_configuration
from tilewright.sim.ethos_u.faults import Fault, describe
from tilewright.sim.ethos_u.library import COUNTS, CChip, CCounts, CFault, CRegion, load

Bytes = NDArray[np.uint8]
REGIONS = 8
MOST_WORK = 1 << 34
"""Products or elements of one operation: what would take longer than some minutes is refused."""


@dataclass
class Region:
    """Bytes that a base pointer leads to."""

    bytes: Bytes
    written: Bytes | None = None
    """For each byte whether it was written; None: all were."""
    is_constant: bool = False


@dataclass(frozen=True)
class Run:
    """What a stream did."""

    commands: int
    operations: int
    macs: int
    elements: int
    """Written to feature maps."""
    dma_bytes: int
    weight_bytes: int
    read_bytes: int
    written_bytes: int

    def as_dict(self) -> dict[str, int]:
        return dict(vars(self))


class StreamFault(CompileError):
    """A stream that cannot be executed; `fault` has the numbers."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(*describe(fault))
        self.fault = fault


class EthosU:
    def __init__(
        self, configuration: Configuration | str, compiler: str | None = None, most_work: int = MOST_WORK
    ) -> None:
        found = find_configuration(configuration) if isinstance(configuration, str) else configuration
        self.configuration = found
        self._library = load(compiler)
        self._chip = CChip(
            found.cores, found.unit[2], found.ifm_unit_depth, found.table_address, found.buffer_bytes, found.is_u65,
            most_work,
        )  # fmt: skip

    def run(self, stream: NDArray[np.uint32], regions: dict[int, Region]) -> Run:
        """Executes a stream; a fault is a CompileError that names its command."""
        words = np.ascontiguousarray(stream, dtype=np.uint32)
        fault, counts = CFault(), CCounts()
        table = (CRegion * REGIONS)()
        for number, region in regions.items():
            table[number] = _to_c(number, region)
        self._library.tw_ethos_u_run(self._chip, table, words.ctypes.data, len(words), fault, counts)
        if fault.reason:
            raise StreamFault(self._fault(fault))
        return Run(**{name: int(getattr(counts, name)) for name in COUNTS})

    def _fault(self, fault: CFault) -> Fault:
        name = self._library.tw_ethos_u_name(fault.code)
        fields = ("reason", "command", "word", "code", "region", "is_write", "address", "size", "value")
        return Fault(name.decode() if name else "", *(int(getattr(fault, field)) for field in fields))


def _to_c(number: int, region: Region) -> CRegion:
    for array in (region.bytes, region.written):
        if array is not None and not (array.dtype == np.uint8 and array.flags.c_contiguous and array.ndim == 1):
            raise CompileError(f"region {number}", "is not one row of bytes", "give uint8 arrays, side by side")
    if region.written is not None and region.written.size != region.bytes.size:
        raise CompileError(
            f"region {number}",
            f"has {region.bytes.size} bytes, but {region.written.size} marks of what was written",
            "give as many marks as bytes",
        )
    if not region.bytes.size:
        return CRegion(1, None, 0, region.is_constant, 0)
    written = None if region.written is None else region.written.ctypes.data
    return CRegion(region.bytes.ctypes.data, written, region.bytes.size, region.is_constant, 0)


def decode_weights(stream: bytes, count: int, compiler: str | None = None) -> NDArray[np.int16]:
    """Weights in the order of their stream."""
    weights = np.zeros(count, np.int16)
    done = load(compiler).tw_ethos_u_weights(stream, len(stream), weights.ctypes.data, count)
    if done < 0:
        raise CompileError("weights", f"{len(stream)} bytes are no stream of {count} weights", "encode them again")
    return weights
