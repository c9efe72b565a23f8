"""What functions of the library take of the stack, as kernels are measured with it."""

from __future__ import annotations

from pathlib import Path

from tests.calibration.linked_frames import depths
from tilewright import targets
from tilewright.calibration.stacks import library_stack
from tilewright.sim.program.elf import read_elf
from tilewright.toolchain.compiler import find_cross_compiler

CALLS = Path(__file__).parent / "library_calls.c"
OWN = {"floats", "doubles", "conversions", "integers", "_start"}
"""Functions of the program around the library."""


def test_no_function_takes_more_than_is_planned_for_it(tmp_path: Path) -> None:
    """Of cores with floats, but no doubles: on others they take less."""
    target = targets.find("quad")
    math = target.runtime_files()["libc/math.c"]
    words = [*target.flags, "-I", str(math.parent), "-static", "-Wl,-e,_start", str(CALLS), str(math)]
    find_cross_compiler().run([*words, "-o", "calls.elf"], tmp_path)
    found = depths(read_elf(tmp_path / "calls.elf"))
    assert found["sinf"] > 800 > found["expf"]
    called = {function: size for function, size in found.items() if "." not in function and function not in OWN}
    assert {function: size for function, size in called.items() if size > library_stack(function)} == {}
