"""Networks on a driver that stands for a GPU's: its memory is not where the arena is, and its kernels are C of this
machine. So the runtime for NVIDIA's driver is tested whole where there is none."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tilewright import pipeline
from tilewright.codegen.gpu_files import CODE, OPENCL_CODE
from tilewright.ir.graph import Graph
from tilewright.program import Program
from tilewright.run.library import LoadedNetwork
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

DRIVER = Path(__file__).parent / "fake_driver.c"
NAME = "libcuda.so.1"
FLAGS = ("-O1", "-fPIC", "-w", "-DTW_GPU_HOST")


def built_driver(place: Path) -> Path:
    """The driver, in a folder of its own."""
    compiler, path = find_compiler(), place / "driver" / NAME
    path.parent.mkdir()
    (made,) = compile_objects({DRIVER: ["-fPIC", "-O1", "-w"]}, place, compiler)
    link_without_runtime([made], ["dl"], path, compiler, ["-O1", "-shared", f"-Wl,-soname,{NAME}"])
    return path


@cache
def loaded_driver() -> ctypes.CDLL:
    """The driver in this process; what looks for one by its name finds the first that was loaded."""
    place = Path(tempfile.mkdtemp(prefix="tilewright-fake-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return ctypes.CDLL(str(built_driver(place)), ctypes.RTLD_GLOBAL)


class Fake:
    """The driver in this process; programs that are loaded find it by its name."""

    def __init__(self, place: Path, driver: ctypes.CDLL, patch: pytest.MonkeyPatch) -> None:
        self.place, self.driver, self.patch, self.count = place, driver, patch, 0
        self.text = ""

    def fails(self, what: str) -> None:
        self.patch.setenv("FAKE", what)

    @property
    def allocated(self) -> int:
        """Bytes of its memory."""
        return int(ctypes.c_size_t.in_dll(self.driver, "fake_allocated").value)

    @property
    def contexts(self) -> int:
        """That are on top of the thread's own."""
        return int(ctypes.c_int.in_dll(self.driver, "fake_contexts").value)

    @property
    def retained(self) -> int:
        """Contexts, streams and events that are open."""
        return int(ctypes.c_int.in_dll(self.driver, "fake_retained").value)

    @property
    def loads(self) -> int:
        """Of code, which may be several kernels."""
        return int(ctypes.c_int.in_dll(self.driver, "fake_loads").value)

    @property
    def buffers(self) -> int:
        """Memory of this machine that is left for the GPU to read."""
        return int(ctypes.c_size_t.in_dll(self.driver, "fake_buffers").value)

    @property
    def opened_buffers(self) -> int:
        """All that there ever was of it."""
        return int(ctypes.c_int.in_dll(self.driver, "fake_opened").value)

    def load(self, graph: Graph) -> LoadedNetwork:
        return self.program(graph).load()

    def loaded(self, compiled: pipeline.Compiled) -> LoadedNetwork:
        return self._program(compiled).load()

    def program(self, graph: Graph) -> Program:
        """Processes that it starts find the driver too."""
        return self._program(pipeline.compile_graph(graph, "gpu"))

    def _program(self, compiled: pipeline.Compiled) -> Program:
        self.text = compiled.files["network.c"]
        self.provide(dict(compiled.files))
        self.patch.setenv("LD_LIBRARY_PATH", str(Path(self.driver._name).parent))
        return Program(compiled, "", None, 0.0)

    def provide(self, files: dict[str, str]) -> None:
        """The kernels among the files of a program."""
        self.count += 1
        self.patch.setenv("FAKE_KERNELS", str(self._kernels(files, self.place / str(self.count))))

    def _kernels(self, files: dict[str, str], place: Path) -> Path:
        """Of a network, as a library of functions."""
        kernels = {
            name.removeprefix("kernels/"): text
            for name, text in files.items()
            if name.startswith("kernels/") and not name.endswith(("gpu_cuda.c", "gpu_opencl.c", CODE, OPENCL_CODE))
        } | {"prefix.h": ""}
        # Where a function launches a kernel several times, it is the kernel that the driver calls.
        kernels["gpu.h"] = kernels["gpu.h"].replace("(static, launch,", "(, launch,")
        place.mkdir()
        for name, text in kernels.items():
            (place / name).write_text(text)
        sources = {place / name: [*FLAGS, f"-Dlaunch=part_{name[:-2]}"] for name in kernels if name.endswith(".c")}
        compiler = find_compiler()
        objects = compile_objects(sources, place, compiler)
        link_without_runtime(objects, ["m", "pthread"], place / "kernels.so", compiler, ["-O1", "-shared"])
        return place / "kernels.so"
