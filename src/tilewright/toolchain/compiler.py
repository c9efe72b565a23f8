"""The C compiler: the pip-installed zig by default, or whatever the user names; objects are cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError

FAILED = "failed:"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

LONGEST_RUN = 1200
"""Seconds after which a compiler is taken to hang: large constants take minutes on a slow machine."""


@dataclass(frozen=True)
class Compiler:
    command: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What decides about the code it makes: the compiler, its version and this machine's processor."""
        return "\n".join([*self.command, _version(self.command), _processor()])

    @property
    def is_zig(self) -> bool:
        return Path(self.command[0]).stem == "zig" and self.command[1:2] == ("cc",)

    def run(self, arguments: list[str], folder: Path) -> None:
        """Run in a folder; its complaints become the error's text."""
        try:
            done = subprocess.run(
                [*self.command, *arguments], cwd=folder, capture_output=True, text=True, env=_environment(),
                timeout=LONGEST_RUN,
            )  # fmt: skip
        except OSError as error:
            raise _missing(self.command, str(error)) from None
        except subprocess.TimeoutExpired:
            raise CompileError(
                f"compiler {self.command[0]}", f"has not finished after {LONGEST_RUN} s", "try another --cc"
            ) from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()][:8]
            raise CompileError(
                f"compiler {self.command[0]}",
                f"{FAILED}\n    " + "\n    ".join(lines),
                "try another --cc, or report the lines above",
            )


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


def build_program(
    sources: list[Path],
    flags: list[str],
    libraries: list[str],
    program: Path,
    compiler: Compiler,
    link_flags: Sequence[str] = (),
) -> None:
    """Compile each source (or take its object from the cache) and link."""
    link_objects(compile_objects(sources, flags, program.parent, compiler), libraries, program, compiler, link_flags)


def compile_objects(sources: list[Path], flags: list[str], folder: Path, compiler: Compiler) -> list[Path]:
    """The objects of sources, in their order."""
    # Zig does not end where it cannot make its own cache, so ours is made first.
    _new_file(cache_folder() / "zig").unlink()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda source: _object(source, flags, compiler, folder), sources))


def link_objects(
    objects: Sequence[Path], libraries: Sequence[str], program: Path, compiler: Compiler, flags: Sequence[str] = ()
) -> None:
    linked = [*map(str, objects), "-o", str(program), *(f"-l{name}" for name in libraries)]
    compiler.run([*flags, *linked], program.parent)


def _new_file(folder: Path) -> Path:
    """An empty file for an object in a folder of the cache."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(suffix=".o", dir=folder)
        os.close(handle)
    except OSError as error:
        raise CompileError(
            str(folder), f"cannot be written: {error.strerror}", "set TILEWRIGHT_CACHE to a writable folder"
        ) from None
    return Path(path)


def _object(source: Path, flags: list[str], compiler: Compiler, root: Path) -> Path:
    cached = cache_folder() / "objects" / f"{_key(source, flags, compiler)}.o"
    if cached.is_file():
        return cached
    draft = _new_file(cached.parent)
    try:
        compiler.run([*flags, "-c", str(source), "-o", str(draft)], root)
        os.replace(draft, cached)
    finally:
        draft.unlink(missing_ok=True)
    return cached


def _key(source: Path, flags: list[str], compiler: Compiler) -> str:
    """A hash of everything that the object depends on."""
    digest = hashlib.sha256("\n".join([compiler.identity, *flags]).encode())
    for path in [source, *_headers(source)]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _headers(source: Path) -> list[Path]:
    """The headers that a source includes in quotes, and those that they include."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            header = path.parent / name
            if header not in found and header.is_file():
                found[header] = None
                waiting.append(header)
    return sorted(found)


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
