"""A network that learns as a library in this process."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.run.host import check_machine, processor_of
from tilewright.run.library import SMALL
from tilewright.target.processors import processor_flags
from tilewright.target.runner import host_process
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler, link_without_runtime
from tilewright.training.folder import LearnerC
from tilewright.training.session import NOTHING_SAVED, OTHER_NETWORK, Session, write_sources

LIBRARY = "learner.so"


class HostSession(Session):
    """Each has a copy of the library: its memory is static."""

    counts_cycles: ClassVar[bool] = False

    def __init__(self, model: LearnerC, cc: str | None = None) -> None:
        super().__init__(model)
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.library = build(model, Path(self._folder.name), cc)
        self._loaded = ctypes.CDLL(str(self.library))
        self._function("memory_at").restype = ctypes.c_void_p
        self._function("reset")()

    def _function(self, name: str) -> Any:
        return getattr(self._loaded, f"{self.model.name}_{name}")

    def _call(self, which: str, given: list[Array], made: list[Array]) -> tuple[int, int | None]:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*given, *made)]
        return int(self._function(which)(*pointers)), None

    def _memory(self, offset: int, count: int) -> bytes:
        return ctypes.string_at(self._function("memory_at")(ctypes.c_uint32(offset)), count)

    def save(self, kept: bytearray) -> None:
        """Into memory of two slots."""
        self._function("save")((ctypes.c_char * len(kept)).from_buffer(kept))

    def load(self, kept: bytes, where: str = "saved weights") -> None:
        """Go on from what was saved."""
        wanted = 2 * self.model.slot_bytes
        if len(kept) != wanted:
            raise _other(where, f"{len(kept)} bytes, where this network keeps {wanted}")
        status = int(self._function("load")(ctypes.create_string_buffer(kept, len(kept))))
        if status == OTHER_NETWORK:
            raise _other(where, "the number of its network is another one")
        if status == NOTHING_SAVED:
            raise CompileError(where, "hold nothing that was saved whole", "save again: both copies are damaged")


def _other(where: str, why: str) -> CompileError:
    hint = "load them into the version of the network that saved them, or begin with the first weights"
    return CompileError(where, f"are of another network, or of another version of this one: {why}", hint)


def build(model: LearnerC, folder: Path, cc: str | None = None) -> Path:
    """The shared library, for this machine."""
    target = model.learner.target
    check_machine(target)
    compiler = find_compiler(cc)
    write_sources(model, folder)
    chosen = processor_flags(processor_of(target), compiler.is_zig)
    flags = [*STRICT, *target.flags, *host_process(target.runner).definitions, *chosen, "-g0", "-I.", "-fPIC"]
    hidden = [*flags, "-fvisibility=hidden", "-ffunction-sections"]
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.suffix in (".c", ".S")]
    sources = {folder / name: flags if name == "learner.c" else hidden for name in names}
    objects = compile_objects(sources, folder, compiler)
    made = folder / LIBRARY
    link_without_runtime(objects, target.libraries, made, compiler, [*target.flags, "-shared", *SMALL])
    return made
