"""Operators on processors of computers: all of them in one program, held to their meaning in numpy.

Programs for another kind of machine than this run in QEMU, where that is installed.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.support.checks import Case
from tests.support.foreign import ForeignProgram, emulator
from tests.support.processors import processor_of
from tests.support.quickly import quickly
from tilewright import pipeline
from tilewright.codegen.network import Writer
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, type_of
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.host import HostProgram
from tilewright.target.processors import ARM, NATIVE, PROCESSORS, X86, vectors_of
from tilewright.target.settings import Settings
from tilewright.targets.cpu import target

HERE = {"amd64": X86, "arm64": ARM}.get(platform.machine().lower(), platform.machine())
LIKE = "like "
"""Code in the order of another processor's vectors, compiled for this machine: plain C stands for its instructions."""
MATRICES = "neoverse-v1"
"""It multiplies two rows with two columns at once."""
ALWAYS_TESTED = (NATIVE, "x86-64-v3" if HERE == X86 else "cortex-a53")
"""This machine, and one like it with fewer instructions."""
OTHERS_TESTED = (
    "x86-64-v3" if HERE != X86 else "cortex-a53", "neoverse-n1", "rv64gcv",
    *(f"{LIKE}x86-64-{name}" for name in ("v4+vnni", "v4+amx", "v3+avxvnni")),
)  # fmt: skip


def is_native(processor: str) -> bool:
    """Whether its code is that for this machine."""
    made_for = processor.removeprefix(LIKE)
    return PROCESSORS[made_for].machine == HERE and vectors_of(made_for) == vectors_of(NATIVE)


PROCESSORS_TESTED = (
    NATIVE, *(name for name in ALWAYS_TESTED[1:] if not is_native(name)),
    *(pytest.param(name, marks=pytest.mark.thorough) for name in OTHERS_TESTED if not is_native(name)),
)  # fmt: skip


def needs(processor: str) -> None:
    """Skips the test where this machine cannot run code for a processor."""
    if processor == NATIVE:
        return
    made_for = processor.removeprefix(LIKE)
    machine = PROCESSORS[made_for].machine
    if processor == made_for and (machine != HERE or processor == MATRICES) and not shutil.which(emulator(processor)):
        pytest.skip(f"needs {emulator(processor)} (apt install qemu-user)")
    if is_native(processor):
        pytest.skip("is what this machine is tested with")


def run_on(
    cases: Sequence[Case], processor: str, patch: pytest.MonkeyPatch, inputs: int = 1, tolerance: float = 0.0
) -> set[str]:
    """The first operands of each are inputs, all others constants; the kernels that computed them."""
    builder, feeds = Builder("kernels"), dict[str, Array]()
    for number, (op, arrays) in enumerate(cases):
        names = []
        for position, array in enumerate(arrays):
            name = f"case{number}_x{position}"
            if array is None:
                names.append("")
            elif position < inputs:
                feeds[builder.input(name, type_of(array))] = array
                names.append(name)
            else:
                names.append(builder.constant(array, name))
        for tensor in builder.add(op, names, name=f"case{number}"):
            builder.output(tensor)
    return run_graph(builder.build(), feeds, processor, patch, tolerance)


def run_graph(
    graph: Graph, feeds: dict[str, Array], processor: str, patch: pytest.MonkeyPatch, tolerance: float = 0.0
) -> set[str]:
    """Code for this machine as users compile it, that for others quickly: test_processors.py compiles it for users."""
    is_quick = processor != NATIVE
    if processor.startswith(LIKE):
        vectors, processor = vectors_of(processor.removeprefix(LIKE)), NATIVE
        patch.setattr(target, "vectors_of", lambda name: vectors)
    settings = Settings(cpu=processor)
    compiled = pipeline.Compiled(*pipeline.stages(graph, "cpu", "", settings))
    wanted, stepped = evaluate(compiled.quantised, feeds), interpret(compiled.schedule, feeds)
    schedule = quickly(compiled.schedule) if is_quick else compiled.schedule
    ran = _outputs(schedule, compiled.files, graph.name, feeds)
    for reference, tensor in zip(compiled.quantised.outputs, compiled.schedule.graph.outputs, strict=True):
        sizes = np.abs(wanted[reference])
        allowed = tolerance * sizes.max(initial=0.0, where=np.isfinite(sizes)) if tolerance else 0.0
        np.testing.assert_allclose(stepped[tensor], wanted[reference], 0.0, allowed, err_msg=str(tensor))
        np.testing.assert_allclose(ran[tensor], wanted[reference], 0.0, allowed, err_msg=str(tensor))
    return {call.kernel.stem for call in compiled.schedule.layers}


def _outputs(schedule: Schedule, files: Mapping[str, str], name: str, feeds: dict[str, Array]) -> dict[str, Array]:
    """Emulated wherever that is possible: the same objects are part of other tests' programs."""
    if processor_of(schedule.target) != NATIVE and shutil.which(emulator(processor_of(schedule.target))):
        return ForeignProgram(schedule, files, name).outputs(feeds)
    return HostProgram(schedule, files, Writer(schedule, name), None).run(feeds).outputs
