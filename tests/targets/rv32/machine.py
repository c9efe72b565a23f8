"""Operators on the microcontroller: all of them in one program, held to their meaning in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.checks import Case, same
from tilewright import pipeline
from tilewright.codegen.network import Writer
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, type_of
from tilewright.run.board import BoardProgram
from tilewright.run.simulated import SocRun
from tilewright.target.settings import Settings

LARGE = Settings(memories=(("ram", 4 << 20),))


def run_on_board(
    cases: Sequence[Case], settings: Settings = LARGE, inputs: int = 1, tolerance: float = 0.0, target: str = "rv32"
) -> tuple[pipeline.Compiled, SocRun]:
    """The first operands of each are inputs, all others constants. Results are compared with numpy's."""
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
    return run_graph(builder.build(), feeds, settings, tolerance, target)


def run_graph(
    graph: Graph, feeds: dict[str, Array], settings: Settings = LARGE, tolerance: float = 0.0, target: str = "rv32"
) -> tuple[pipeline.Compiled, SocRun]:
    """A graph of any operators, compared with numpy's results."""
    compiled = pipeline.Compiled(*pipeline.stages(graph, target, "", settings))
    wanted = evaluate(compiled.quantised, feeds)
    program = BoardProgram(Writer(compiled.schedule, graph.name), compiled.files, None)
    ran = program.run(feeds)
    for reference, tensor in zip(compiled.quantised.outputs, compiled.schedule.graph.outputs, strict=True):
        if tolerance:
            same(ran.outputs[tensor], wanted[reference], tolerance)
        else:
            np.testing.assert_array_equal(ran.outputs[tensor], wanted[reference], err_msg=str(tensor))
    return compiled, ran


def kernels(compiled: pipeline.Compiled) -> list[str]:
    """Of the nodes in order."""
    return [call.kernel.stem for call in compiled.schedule.layers]
