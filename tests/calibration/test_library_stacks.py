"""What functions of the library take of the stack, as kernels are measured with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calibration.linked_frames import depths
from tilewright import targets
from tilewright.calibration.stacks import library_stack, own_library_stacks
from tilewright.sim.program.elf import read_elf
from tilewright.toolchain.compiler import find_cross_compiler

CALLS = Path(__file__).parent / "library_calls.c"
OWN = {"floats", "doubles", "conversions", "integers", "_start"}
"""Functions of the program around the library."""


@pytest.mark.parametrize("name", ["quad", "minpool"])
def test_no_function_takes_more_than_is_planned_for_it(name: str, tmp_path: Path) -> None:
    """Of cores with floats, but no doubles, and without either: with both they take less."""
    target = targets.find(name)
    math = target.runtime_files()["libc/math.c"]
    words = [*target.flags, "-I", str(math.parent), "-static", "-Wl,-e,_start", str(CALLS), str(math)]
    find_cross_compiler().run([*words, "-o", "calls.elf"], tmp_path)
    found = depths(read_elf(tmp_path / "calls.elf"))
    assert found["sinf"] > 800 > found["expf"]
    called = {function: size for function, size in found.items() if "." not in function and function not in OWN}
    own = own_library_stacks(target)
    planned = {function: own.get(function, library_stack(function)) for function in called}
    assert {function: size for function, size in called.items() if size > planned[function]} == {}
