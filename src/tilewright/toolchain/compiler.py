"""The C compiler: the pip-installed zig by default, or whatever the user names; objects are kept by content."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.toolchain.includes import Files
from tilewright.toolchain.object_cache import ObjectCache, bound, key_of
from tilewright.toolchain.processes import Processes
from tilewright.toolchain.read_before import begin_with
from tilewright.toolchain.zig_clang import clang_of, clang_options, same_options

FAILED = "failed:"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

BARE = "-rtlib=none"
"""Tells zig to link without a runtime library of its own, which it would build first: that takes seconds, and hardly
any program for this machine needs it."""

LONGEST_RUN = 1200
"""Seconds after which a compiler is taken to hang: large constants take minutes on a slow machine."""


@dataclass(frozen=True)
class Compiler:
    command: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What decides about the code it makes: the compiler, its version, this machine's processor and C library."""
        return "\n".join([*self.command, _version(self.command), _processor(), _c_library()])

    @property
    def is_zig(self) -> bool:
        return Path(self.command[0]).stem == "zig" and self.command[1:2] == ("cc",)

    def compile(
        self, source: Path, flags: Sequence[str], made: str, folder: Path, processes: Processes | None = None
    ) -> None:
        """Make the object of a source."""
        processes = processes or Processes()
        if not self._compiled_by_clang(source, flags, made, folder, processes):
            self.run([*flags, "-c", str(source), "-o", made], folder, folder / SCRATCH, processes)

    def _compiled_by_clang(
        self, source: Path, flags: Sequence[str], made: str, folder: Path, processes: Processes
    ) -> bool:
        """Whether zig's clang made it alone; what it complains of is zig's to tell."""
        options = clang_options(self.command, flags, source.suffix, cache_folder() / "zig") if self.is_zig else None
        if options is None:
            return False
        clang, kept = clang_of(self.command), _cache(cache_folder() / "objects", bound())
        read = begin_with(clang, options, source, flags, folder, kept) if kept else ()
        words = [*clang, str(source), *options, *same_options(flags), *read, "-o", made]
        try:
            done = processes.run(words, cwd=folder, timeout=LONGEST_RUN)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def run(
        self, arguments: list[str], folder: Path, scratch: Path | None = None, processes: Processes | None = None
    ) -> None:
        """Run in a folder; its complaints become the error's text. What zig keeps of it goes to `scratch`."""
        environment = _environment() | ({} if scratch is None else {"ZIG_LOCAL_CACHE_DIR": str(scratch)})
        try:
            done = (processes or Processes()).run(
                [*self.command, *arguments], cwd=folder, text=True, env=environment, timeout=LONGEST_RUN
            )
        except OSError as error:
            raise _missing(self.command, str(error)) from None
        except subprocess.TimeoutExpired:
            raise CompileError(
                f"compiler {self.command[0]}", f"has not finished after {LONGEST_RUN} s", "try another --cc"
            ) from None
        if done.returncode != 0:
            _refuse_too_large(done.stderr)
            said = [line for line in done.stderr.splitlines() if line.strip()]
            first = next((at for at, line in enumerate(said) if "error" in line), 0)
            lines = said[first : first + 8]
            raise CompileError(
                f"compiler {self.command[0]}",
                f"{FAILED}\n    " + "\n    ".join(lines),
                "try another --cc, or report the lines above",
            )


def _refuse_too_large(said: str) -> None:
    """A memory that the linker finds too small."""
    missing = {name: int(more) for name, more in re.findall(r"region ['`](\w+)'[^\n]* overflowed by (\d+) bytes", said)}
    for name, more in missing.items():
        raise CompileError(
            f"memory {name}", f"the program does not fit: {more} bytes are missing",
            "use a smaller network, a larger --memory or another --board",
        )  # fmt: skip


@cache
def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=120, env=_environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _missing(command, str(error)) from None
    if done.returncode != 0:
        raise _missing(command, done.stderr.strip()[:200] or f"exit code {done.returncode}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Zig keeps its own cache in the home folder, which not every user has."""
    return {"ZIG_GLOBAL_CACHE_DIR": str(cache_folder() / "zig"), **os.environ}


def find_compiler(name: str | None = None) -> Compiler:
    """For this machine: `name`, or $CC, or zig from the ziglang package."""
    return find_cross_compiler(name or os.environ.get("CC"))


def find_cross_compiler(name: str | None = None) -> Compiler:
    """For another machine, for which $CC is not meant: `name`, or zig from the ziglang package."""
    chosen = (name or "").strip()
    if chosen:
        return Compiler(_command(chosen))
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise _missing(("zig",), "the package ziglang is not installed")
    program = Path(spec.submodule_search_locations[0]) / ("zig.exe" if os.name == "nt" else "zig")
    return Compiler((str(program), "cc"))


def _command(text: str) -> tuple[str, ...]:
    """A compiler and its options as words; the compiler runs in other folders, so its path is made absolute."""
    try:
        program, *options = shlex.split(text)
    except ValueError as error:
        raise _missing((text,), str(error).lower()) from None
    found = shutil.which(program)
    if found is None:
        raise _missing((program, *options), "not found on the PATH")
    return (os.path.abspath(found) if os.sep in program else program, *options)


def cache_folder() -> Path:
    """Where objects are kept between runs; $TILEWRIGHT_CACHE moves it."""
    base = os.environ.get("TILEWRIGHT_CACHE")
    if base:
        return Path(base).absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches).absolute() / "tilewright"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; others wait, rather than make the same. Without such locks they make it too."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build_program(
    sources: list[Path],
    flags: list[str],
    libraries: list[str],
    program: Path,
    compiler: Compiler,
    link_flags: Sequence[str] = (),
) -> None:
    """Compile each source (or take its object from the cache) and link."""
    objects = compile_objects(dict.fromkeys(sources, flags), program.parent, compiler)
    link_objects(objects, libraries, program, compiler, link_flags)


def compile_objects(sources: Mapping[Path, Sequence[str]], folder: Path, compiler: Compiler) -> list[Path]:
    """The objects of sources, each with its options, as files below a folder, in which the compiler runs."""
    from concurrent.futures import ThreadPoolExecutor  # not loaded by those who find everything built

    # Zig does not end where it cannot make its own cache, so ours is made first.
    _check_writable(cache_folder() / "zig")
    kept, files = _cache(cache_folder() / "objects", bound()), Files()
    (folder / OBJECTS).mkdir(exist_ok=True)
    processes = Processes()

    def made(source: Path) -> Path:
        return _object(source, sources[source], compiler, folder, kept, files, processes)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, processes.stopped_by_errors():
        return list(pool.map(made, sources))


def link_objects(
    objects: Sequence[Path], libraries: Sequence[str], program: Path, compiler: Compiler, flags: Sequence[str] = ()
) -> None:
    """A program of objects, in its folder."""
    linked = [*UNSANITISED, *flags, *map(str, objects), "-o", str(program), *(f"-l{name}" for name in libraries)]
    compiler.run(linked, program.parent, program.parent / SCRATCH)
    _check_written(program, compiler)


def link_without_runtime(
    objects: Sequence[Path], libraries: Sequence[str], program: Path, compiler: Compiler, flags: Sequence[str] = ()
) -> None:
    """Without the compiler's own library if nothing of it is needed: zig would build it first."""
    if compiler.is_zig:
        with contextlib.suppress(CompileError):
            return link_objects(objects, libraries, program, compiler, [*flags, BARE])
    return link_objects(objects, libraries, program, compiler, flags)


UNSANITISED = ("-O1",)
"""Objects that are linked are optimised: zig builds a sanitizer for others first, for twenty seconds."""
OBJECTS, SCRATCH = "objects", "zig"
"""Folders beside a program: what it is linked of, and what zig keeps; nobody needs it longer than the program."""


@cache
def _cache(folder: Path, most: int) -> ObjectCache | None:
    return ObjectCache(folder, most) if most else None


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise CompileError(
            str(folder), f"cannot be written: {error.strerror}", "set TILEWRIGHT_CACHE to a writable folder"
        ) from None


def _object(
    source: Path, flags: Sequence[str], compiler: Compiler, folder: Path, kept: ObjectCache | None, files: Files,
    processes: Processes,
) -> Path:  # fmt: skip
    words = [*compiler.command[1:], *flags]
    key = key_of(compiler.identity, words, source, folder, files) if kept else None
    if kept is None or key is None:
        return _compiled(source, flags, compiler, folder, processes)
    place = folder / OBJECTS / f"{key}.o"
    if place.is_file() or kept.take(key, place):
        return place
    os.replace(_compiled(source, flags, compiler, folder, processes), place)
    kept.keep(key, place)
    return place


def _compiled(source: Path, flags: Sequence[str], compiler: Compiler, folder: Path, processes: Processes) -> Path:
    handle, name = tempfile.mkstemp(suffix=".o", dir=folder / OBJECTS)
    os.close(handle)
    compiler.compile(source, flags, name, folder, processes)
    _check_written(Path(name), compiler)
    return Path(name)


def _check_written(made: Path, compiler: Compiler) -> None:
    """What is no compiler may end well all the same."""
    if not made.is_file() or not made.stat().st_size:
        what = "ended without an error, but wrote nothing"
        raise CompileError(f"compiler {compiler.command[0]}", what, "name a C compiler: --cc gcc")


@cache
def _c_library() -> str:
    return " ".join(platform.libc_ver())


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def _missing(command: tuple[str, ...], why: str) -> CompileError:
    return CompileError(
        f"compiler {' '.join(command)}", f"cannot be run: {why}", "pip install ziglang, or name one: --cc gcc"
    )
