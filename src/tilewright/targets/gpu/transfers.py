"""Copies between the memory of the computer and that of the GPU."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.op import Op, Params
from tilewright.ir.types import BYTES
from tilewright.ops.identity import Identity
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Transfers
from tilewright.targets.gpu.costs import copied


@dataclass(frozen=True)
class Upload(Identity):
    """The same tensor in the memory of the GPU."""

    copy: bool = True


@dataclass(frozen=True)
class Download(Identity):
    """The same tensor in the memory of the computer."""

    copy: bool = True


def copied_bytes(op: Op, types: Types) -> Params:
    return {"bytes": types["X"].bytes}


def transfer(op: type[Op], source: str) -> Kernel:
    anything = frozenset(BYTES)
    types = {"X": anything, "Y": anything}
    return Kernel(op, source, "X -> Y", types, copied_bytes, header="gpu_copy.h", cycles=copied)


UPLOAD = transfer(Upload, "gpu_upload.c")
DOWNLOAD = replace(
    transfer(Download, "gpu_download.c"), offloaded=True, has_epilogue=True, waits=True, has_several=True
)
"""It is asked for when the GPU has been given what it copies, and is waited for when cores need it."""
TRANSFERS = Transfers(UPLOAD, DOWNLOAD)
