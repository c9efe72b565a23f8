"""Builds the simulator on first use, keeps it by content hash, loads it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.sim.activity import STALL_CAUSES, CActivity
from tilewright.sim.platform import CPlatform
from tilewright.toolchain.compiler import Compiler, _processor, cache_folder, compile_objects, find_compiler, locked
from tilewright.toolchain.shared_library import link_library

FOLDER = Path(__file__).parent
UNANALYSED = ("-Wno-uninitialized",)
"""A core is one function of hundreds of computed jumps. Clang took longer to follow all ways through it than for all
else, for warnings that nobody is shown."""
FLAGS = (
    *("-std=gnu99", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", *UNANALYSED),
    *("-ffp-contract=off", "-fno-sanitize=all", "-fwrapv"),
)
ETHOS_U = FOLDER / "ethos_u"
"""A library of its own."""
LONGEST = FOLDER / "cv32e40p" / "core.c"
"""Takes longer to compile than all others together."""
WITHIN_LINES = ("-mbranches-within-32B-boundaries",) if platform.machine() in ("x86_64", "AMD64") else ()
"""Instructions of some x86 processors are not kept decoded where a jump lies across 32 bytes: what a loop of a hundred
jumps takes would depend on where each file before it ends, by up to a fifth."""
ZIG_FLAGS = {
    LONGEST: ("-mllvm", "-tail-dup-placement=0", *WITHIN_LINES),
}
"""Half of that time would go into copies of ends of blocks, which make it no faster."""

U32, U64, P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class CFault(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ["reason", "core", "pc", "address", "size", "is_write", "value", "pad"]),
        ("cycle", U64),
    ]


class CStatistics(ctypes.Structure):
    _fields_ = [
        ("cycles", U64),
        ("instructions", U64),
        ("stall", U64 * len(STALL_CAUSES)),
        ("local_bytes", U64),
        ("memory_bytes", U64 * 16),
        *((name, U32) for name in ["hart", "status", "group", "pc"]),
    ]


class CProfileCell(ctypes.Structure):
    _fields_ = [(name, U64) for name in ["cycles", "instructions", "sleep"]]


class CSpan(ctypes.Structure):
    _fields_ = [("start", U64), ("end", U64), ("track", U32), ("name", U32)]


_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "tw_platform_bytes": (ctypes.c_size_t, ()),
    "tw_activity_bytes": (ctypes.c_size_t, ()),
    "tw_new": (P, (ctypes.POINTER(CPlatform),)),
    "tw_delete": (None, (P,)),
    "tw_write": (ctypes.c_int, (P, U32, U32, ctypes.c_char_p, U32)),
    "tw_read": (ctypes.c_int, (P, U32, U32, P, U32)),
    "tw_check": (None, (P, U32)),
    "tw_protect": (None, (P, U32, U32)),
    "tw_flush_code": (None, (P,)),
    "tw_is_memory": (ctypes.c_int, (P, U32, U32, U32)),
    "tw_set_tohost": (None, (P, U32)),
    "tw_set_fromhost": (None, (P, U32)),
    "tw_boot": (None, (P, U32)),
    "tw_pass_hart": (None, (P, U32)),
    "tw_declare": (ctypes.c_int, (P, P)),
    "tw_collides": (ctypes.c_char_p, (P, U32, U32, U32)),
    "tw_run": (U32, (P, U64)),
    "tw_attach": (None, (P, U32, P)),
    "tw_device_shown": (None, (P, U32, P, U32)),
    "tw_device_said": (ctypes.c_char_p, (P, U32)),
    "tw_stop": (None, (P,)),
    "tw_fault": (None, (P, ctypes.POINTER(CFault))),
    "tw_exit_code": (U32, (P,)),
    "tw_now": (U64, (P,)),
    "tw_take_output": (U32, (P, P, U32)),
    "tw_output_bytes": (U32, (P,)),
    "tw_get_register": (U64, (P, U32, U32)),
    "tw_set_register": (None, (P, U32, U32, U64)),
    "tw_core_statistics": (None, (P, U32, ctypes.POINTER(CStatistics))),
    "tw_memory_traffic": (None, (P, U32, ctypes.POINTER(U64), ctypes.POINTER(U64))),
    "tw_activity": (None, (P, ctypes.POINTER(CActivity))),
    "tw_device_busy": (U64, (P, U32)),
    "tw_set_breakpoints": (ctypes.c_int, (P, ctypes.POINTER(U32), U32)),
    "tw_step": (None, (P, ctypes.c_int32)),
    "tw_lock": (None, (P, ctypes.c_int32)),
    "tw_observe": (None, (P, ctypes.POINTER(U32), U32, U32)),
    "tw_observe_close": (None, (P,)),
    "tw_profile": (ctypes.POINTER(CProfileCell), (P,)),
    "tw_spans": (ctypes.POINTER(CSpan), (P, ctypes.POINTER(U32), ctypes.POINTER(U32))),
    "tw_guard_stacks": (None, (P, ctypes.POINTER(U32), ctypes.POINTER(U32), U32, ctypes.POINTER(U32))),
    "tw_probe": (None, (P, ctypes.POINTER(U32), ctypes.c_char_p, U32, ctypes.c_char_p)),
    "tw_probe_events": (P, (P, ctypes.POINTER(U32), ctypes.POINTER(U32))),
    "tw_probe_meters": (ctypes.POINTER(CActivity), (P, ctypes.POINTER(U32))),
    "tw_probe_transfers": (P, (P, ctypes.POINTER(U32))),
    "tw_probe_jobs": (P, (P, ctypes.POINTER(U32))),
    "tw_snapshot_bytes": (ctypes.c_size_t, (P,)),
    "tw_save": (None, (P, P)),
    "tw_restore": (None, (P, P)),
}


@cache
def load(compiler_name: str | None = None) -> ctypes.CDLL:
    """The simulator as a library; built if this version of it was never built here."""
    library = ctypes.CDLL(str(build_library(sources(), find_compiler(compiler_name), "the simulator", (FOLDER,))))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    shared = ((library.tw_platform_bytes, CPlatform), (library.tw_activity_bytes, CActivity))
    if any(size() != ctypes.sizeof(struct) for size, struct in shared):
        raise CompileError("simulator", "its structs differ from those in Python", "report this as a bug")
    return library


def build_library(sources: list[Path], compiler: Compiler, what: str, includes: tuple[Path, ...] = ()) -> Path:
    """A shared library of some C files, kept by their content; they may include the headers of some folders."""
    folder = cache_folder() / "sim"
    target = folder / f"{_key(compiler, sources, includes)}.so"
    if target.is_file():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock"):
            if not target.is_file():
                start = time.perf_counter()
                print(f"tilewright: building {what} (once) ...", file=sys.stderr, flush=True)
                _build_into(target, sources, compiler, includes)
                seconds = time.perf_counter() - start
                print(f"tilewright: built {what} in {seconds:.1f} s", file=sys.stderr, flush=True)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
    return target


def _build_into(target: Path, sources: list[Path], compiler: Compiler, includes: tuple[Path, ...]) -> None:
    """The library appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=target.parent) as draft:
        _build(sources, compiler, Path(draft), includes)
        os.replace(Path(draft) / "sim.so", target)


GUARD = FOLDER / "user" / "device_guard.c"
"""Linked to a device in C, so that a call of it can be ended; no part of the simulator."""


def sources() -> list[Path]:
    return sorted(path for path in FOLDER.rglob("*.c") if path != GUARD and path.parent != ETHOS_U)


def _key(compiler: Compiler, files: list[Path], includes: tuple[Path, ...]) -> str:
    """The compiler's path stands for its version: asking it would cost more than a start may take."""
    flags = [word for path in files for word in _flags(compiler, path)]
    digest = hashlib.sha256("\n".join([*compiler.command, *flags, _processor()]).encode())
    headers = [path for folder in includes for path in _headers(folder)]
    for path in sorted([*files, *headers]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _headers(folder: Path) -> list[Path]:
    """The simulator includes those of its own folders; below a user's there may be anything."""
    is_own = folder == FOLDER
    return [*folder.rglob("*.h"), *folder.rglob("*.def")] if is_own else list(folder.glob("*.h"))


def _flags(compiler: Compiler, path: Path) -> tuple[str, ...]:
    return (*FLAGS, *ZIG_FLAGS.get(path, ())) if compiler.is_zig else FLAGS


def _build(files: list[Path], compiler: Compiler, folder: Path, includes: tuple[Path, ...]) -> None:
    longest_first = sorted(files, key=lambda path: path != LONGEST)
    include = [word for place in includes for word in ("-I", str(place))]
    flags = {path: [*_flags(compiler, path), *include] for path in longest_first}
    link_library(compile_objects(flags, folder, compiler), folder / "sim.so", compiler)
