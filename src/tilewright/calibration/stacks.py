"""How much stack kernels need: compiles them with several element types and adds up frames along calls."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tilewright.codegen.kernels import HAS_EXPONENTS, PREFIX_FILE, Instance, Read, headers
from tilewright.errors import CompileError
from tilewright.ops._activation import CURVE_NAMES, CURVES
from tilewright.target.kernel import Kernel
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_cross_compiler

FILE = "stacks.json"
"""In the folder of a target with a cluster."""

COMBINATIONS = 10
"""Element types that are tried for one kernel."""

PREFERRED = ("int8", "float32", "uint8", "int32", "int64", "int16", "bool")

LIBRARY = {
    "__ashldi3": 0, "__ashrdi3": 0, "__lshrdi3": 0, "sqrtf": 0, "fmodf": 0,
    "__": 32, "mem": 32, "floorf": 32, "ceilf": 32, "roundf": 32, "rintf": 32, "logf": 32, "expf": 48,
    "sinf": 880, "cosf": 880, "tanf": 880,
}  # fmt: skip
"""Bytes that functions of the compiler's library take with all that they call, by the start of the name. Angles of any
size are brought into one turn with many words."""
MATH = 144
"""The same of all its other mathematical functions."""
WITHOUT_FLOATS = {"sqrtf": 16, "fmodf": 16}
"""Those that take more where cores have no floats."""


def kernel_stacks(target: Target, kernels: Sequence[Kernel]) -> dict[str, int]:
    """Bytes by the kernel's stem: several kernels may have one file."""
    found: dict[str, int] = {}
    with ThreadPoolExecutor(2) as pool:
        for kernel, size in zip(kernels, pool.map(lambda kernel: kernel_stack(target, kernel), kernels), strict=True):
            found[kernel.stem] = max(size, found.get(kernel.stem, 0))
    return found


def kernel_stack(target: Target, kernel: Kernel) -> int:
    """Of the deepest of its instances. Some have types that no graph has, and do not compile; never all of them."""
    found, errors = list[int](), list[CompileError]()
    for instance in samples(kernel, target.kernel_text):
        try:
            found.append(instance_stack(target, instance))
        except CompileError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return max(found, default=0)


def samples(kernel: Kernel, read: Read) -> Iterator[Instance]:
    """As networks have it: one that requantises is compiled for one kind of rounding."""
    for instance in _of_types(kernel):
        requantises = any(HAS_EXPONENTS in text for text in headers([instance], read).values())
        yield from (replace(instance, has_exponents=kind) for kind in ((False, True) if requantises else (None,)))


def _of_types(kernel: Kernel) -> Iterator[Instance]:
    templates = [argument.stem for argument in kernel.arguments() if not argument.dtype]
    choices = [sorted(kernel.dtypes[name], key=_preference) for name in templates]
    same = [tuple(zip(templates, (dtype,) * len(templates), strict=True)) for dtype in PREFERRED]
    allowed = [c for c in same if all(dtype in kernel.dtypes[name] for name, dtype in c)]
    mixed = [tuple(zip(templates, c, strict=True)) for c in itertools.islice(itertools.product(*choices), COMBINATIONS)]
    found = list(dict.fromkeys([*allowed, *mixed]))
    yield from (Instance(kernel, dtypes) for dtypes in found)
    if set(CURVES) <= set(kernel.activations):
        floats = [dtypes for dtypes in found if all(dtype == "float32" for _, dtype in dtypes)]
        yield from (Instance(kernel, dtypes, curve=curve) for dtypes in floats for curve in CURVE_NAMES)


def instance_stack(target: Target, instance: Instance) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for header, text in {**headers([instance], target.kernel_text), PREFIX_FILE: ""}.items():
            (folder / header).write_text(text)
        (folder / instance.file).write_text(instance.text(target.kernel_text))
        libc = target.runtime_files()["libc/math.c"].parent
        cores = target.agents.cores
        flags = [*target.flags, "-I", str(libc), f"-DTW_CORES={cores}", "-S", instance.file, "-o", "out.s"]
        find_cross_compiler().run(flags, folder)
        assembly = (folder / "out.s").read_text()
        known = own_library_stacks(target)
        return max(deepest(assembly, function, known) for function in instance.functions.values())


def own_library_stacks(target: Target) -> Mapping[str, int]:
    """Of functions of the library that take something else on a target."""
    has_floats = any("+f" in flag for flag in target.flags if flag.startswith("-mcpu="))
    return {} if has_floats else WITHOUT_FLOATS


def deepest(assembly: str, function: str, known: Mapping[str, int]) -> int:
    """Bytes of stack from the entry of a function on, through all that it calls; those of some are known."""
    frames = dict(known)
    calls: dict[str, set[str]] = {}
    taken: dict[str, set[str]] = {}  # names whose addresses are used: calls, if they are functions
    name = ""
    for line in assembly.splitlines():
        if found := re.match(r"([A-Za-z_]\w*):", line):
            name = found[1]
            frames.setdefault(name, 0)
        elif found := re.match(r"\s+addi\s+sp, sp, -(\d+)", line):
            frames[name] = frames.get(name, 0) + int(found[1])
        elif re.match(r"\s+sub\s+sp, sp, ", line):
            frames[name] = frames.get(name, 0) + 8192
        elif found := re.match(r"\s+(?:call|tail|jal|j)\s+(?:ra, |t0, )?([A-Za-z_]\w*)", line):
            calls.setdefault(name, set()).add(found[1])
        elif found := re.search(r"%(?:hi|pcrel_hi)\(([A-Za-z_]\w*)\)", line):
            taken.setdefault(name, set()).add(found[1])
    for caller, names in taken.items():
        calls.setdefault(caller, set()).update(names & frames.keys())
    return _depth(function, frames, calls)


def _depth(name: str, frames: dict[str, int], calls: dict[str, set[str]], above: tuple[str, ...] = ()) -> int:
    if name in above:
        raise CompileError(f"function {name}", "calls itself: its stack has no bound", "write it as a loop")
    if name not in frames and name not in calls and not name.startswith("tw_"):
        return library_stack(name)
    inner = [_depth(callee, frames, calls, (*above, name)) for callee in calls.get(name, ())]
    return frames.get(name, 0) + max(inner, default=0)


def library_stack(function: str) -> int:
    return next((size for start, size in LIBRARY.items() if function.startswith(start)), MATH)


def _preference(dtype: str) -> tuple[int, str]:
    return PREFERRED.index(dtype) if dtype in PREFERRED else len(PREFERRED), dtype
