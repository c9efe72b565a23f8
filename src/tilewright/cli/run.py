"""`tilewright run`: a network built, run and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.analyze import print_analysis
from tilewright.cli.binding import Binding
from tilewright.cli.emit import emit_stage
from tilewright.cli.options import Cc, Emit, InputFile, Json, Model, Name, Planning, TargetName
from tilewright.cli.process import AGREES, DISAGREES, print_json, progress_display

if TYPE_CHECKING:
    from tilewright.analysis.costs import Analysis
    from tilewright.run.result import Check

ExpectFile = Annotated[
    Path | None,
    typer.Option(
        "--expect", metavar="FILE.npz", help="Expected outputs as .npz; by default those of the numpy reference."
    ),
]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="Compare every intermediate tensor with the reference.")]
Repeat = Annotated[int, typer.Option("--repeat", min=1, help="Number of runs; the median time is reported.")]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps", min=1,
        help="Number of consecutive calls with state: inputs and outputs get a first axis of steps. "
        "By default all steps of --inputs.",
    ),
]  # fmt: skip
Tolerance = Annotated[
    float,
    typer.Option("--tolerance", min=0.0, help="Allowed difference of floats, relative to the output's largest value."),
]
ElfFile = Annotated[
    Path | None,
    typer.Option("--elf", metavar="FILE", help="Also write the program for the SoC, with the inputs in it."),
]
WavesFile = Annotated[
    Path | None,
    typer.Option("--waves", metavar="FILE", help="Write the signals of accelerators in Verilog: FILE.fst or FILE.vcd."),
]
WavesCycles = Annotated[
    str, typer.Option("--waves-cycles", metavar="FIRST:LAST", help="Only write signals of these cycles of the SoC.")
]


def run(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "",
    inputs: InputFile = None, expect: ExpectFile = None, per_layer: PerLayer = False, repeat: Repeat = 1,
    steps: Steps = None, tolerance: Tolerance = 1e-4, cc: Cc = None, name: Name = "", emit: Emit = "",
    elf: ElfFile = None, waves: WavesFile = None,
    waves_cycles: WavesCycles = "", as_json: Json = False,
) -> int:  # fmt: skip
    """Compile a network, run it on this machine or in simulation, and compare its outputs with the reference."""
    from tilewright import pipeline
    from tilewright.analysis.exact_rounding import with_rounding_note
    from tilewright.bringup.instruction_trial import unused
    from tilewright.cli.simulating import watched
    from tilewright.errors import CompileError
    from tilewright.program import compile_model
    from tilewright.sim.rtl.waves import cycles_of, recording

    settings, options = planning.settings(), binding.options()
    target = planning.target(target)
    if emit:
        graph = pipeline.import_model(model, target_name=target, goal=settings.optimise, **options)
        return emit_stage(graph, target, name, emit, None, "graph", as_json, settings)
    cycles = [cycles_of(waves_cycles)] if waves_cycles else []
    with progress_display() as progress, recording(waves, *cycles) as recorded:
        options |= {"example_inputs": inputs, "settings": settings, "progress": progress}
        program = compile_model(model, target=target, name=name, cc=cc, **options)
        if elf is not None:
            program.save_elf(elf, program.random_inputs() if inputs is None else inputs)
        with watched(progress, program.analysis.predicted_cycles * (steps or 1)):
            check = program.check(
                inputs, expect, tolerance=tolerance, repeats=repeat, per_layer=per_layer, progress=progress, steps=steps
            )
        progress("predicting")
        found = with_rounding_note(program.analysis, program.graph, settings)
        if settings.instructions:
            found = replace(found, notes=(*found.notes, *unused(program, target)))
    if waves is not None and not recorded:
        raise CompileError(
            f"--waves {waves}", "no device in Verilog has run", "give --accelerator a folder with device.v"
        )
    if as_json:
        known = {"interface": found.interface(), **found.numerics(), **found.accelerators(), "notes": list(found.notes)}
        print_json("run", {**check.as_dict(), **known})
    else:
        _print_check(found, check, "the reference" if expect is None else str(expect))
    return AGREES if check.agrees else DISAGREES


def _print_check(analysis: Analysis, check: Check, against: str) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    print_analysis(analysis)
    tables.print_check(console(), check, against)
