"""The model of the NPU as a library, built on first use."""

from __future__ import annotations

import ctypes
from functools import cache

from tilewright.sim.library import ETHOS_U, FOLDER, build_library
from tilewright.toolchain.compiler import find_compiler

U32, U64, P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class CRegion(ctypes.Structure):
    _fields_ = [("bytes", P), ("written", P), ("size", U64), ("is_constant", U32), ("pad", U32)]


class CChip(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ["cores", "ofm_unit_depth", "ifm_unit_depth"]),
        *((name, U32) for name in ["table_address", "buffer_bytes", "moves_blocks"]),
        ("most_work", U64),
    ]


class CFault(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ["reason", "command", "word", "code", "region", "is_write", "other", "pad"]),
        ("address", U64),
        ("size", U64),
        ("value", ctypes.c_int64),
    ]


COUNTS = (
    "commands", "operations", "macs", "elements", "dma_bytes", "weight_bytes", "read_bytes", "written_bytes",
)  # fmt: skip


class CCounts(ctypes.Structure):
    _fields_ = [*((name, U64) for name in COUNTS), ("interrupts", U32), ("pad", U32)]


@cache
def load(compiler_name: str | None = None) -> ctypes.CDLL:
    sources = sorted(ETHOS_U.glob("*.c"))
    built = build_library(sources, find_compiler(compiler_name), "the model of Ethos-U", (FOLDER,))
    library = ctypes.CDLL(str(built))
    pointers = [ctypes.POINTER(kind) for kind in (CChip, CRegion, CFault, CCounts)]
    chip, regions, fault, counts = pointers
    library.tw_ethos_u_run.restype = U32
    library.tw_ethos_u_run.argtypes = (chip, regions, P, U32, fault, counts)
    library.tw_ethos_u_name.restype, library.tw_ethos_u_name.argtypes = ctypes.c_char_p, (U32,)
    library.tw_ethos_u_weights.restype = ctypes.c_int64
    library.tw_ethos_u_weights.argtypes = (ctypes.c_char_p, U64, P, U64)
    return library
