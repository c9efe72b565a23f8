"""`tilewright profile`: what a network spends its cycles on, layer by layer and tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.options import Cc, InputFile, Json, Model, Name, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError, printable
from tilewright.whole_file import write_whole

if TYPE_CHECKING:
    from tilewright.program import Program

PerTile = Annotated[
    bool, typer.Option("--per-tile", help="Print a line for every tile, with its transfers and kernel.")
]
Trace = Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write a trace for ui.perfetto.dev.")]
MapFile = Annotated[
    Path | None, typer.Option("--map", metavar="FILE.svg", help="Draw a map of each memory; - prints text only.")
]


def profile(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "", inputs: InputFile = None,
    per_tile: PerTile = False, trace: Trace = None, map_file: MapFile = None, name: Name = "", cc: Cc = None,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Run a network in simulation and show where the cycles go. Profiling does not change the cycles."""
    from tilewright.program import compile_model

    if not target and not planning.board_name:
        raise CompileError("profile", "--target or --board is missing", "`tilewright targets` lists them")
    settings, target = planning.settings(), planning.target(target)
    with progress_display() as progress:
        program = compile_model(
            model, inputs, target, name=name, cc=cc, settings=settings, progress=progress, **binding.options()
        )
        progress("simulating")
        _profile(program, inputs, per_tile, trace, map_file, as_json, progress)
    return AGREES


def _profile(
    program: Program, inputs: Path | None, per_tile: bool, trace: Path | None, map_file: Path | None, as_json: bool,
    progress: Callable[[str], None],
) -> None:  # fmt: skip
    from tilewright.analysis.exact_rounding import with_rounding_note
    from tilewright.cli.simulating import watched
    from tilewright.profiling.lines import tile_lines
    from tilewright.profiling.trace import write_trace
    from tilewright.report.memory_map import svg

    with watched(progress, program.analysis.predicted_cycles):
        found = program.profile(inputs)
    maps = program.memory_maps
    with uninterrupted():
        if trace is not None:
            write_trace(trace, found)
        if map_file is not None and str(map_file) != "-":
            write_whole(map_file, svg(maps, found.profile.network), "--map")
    notes = with_rounding_note(program.analysis, program.graph, program.settings).notes
    if as_json:
        memory = [one.as_dict() for one in maps]
        print_json(
            "profile", {"status": "ok", **found.profile.as_dict(per_tile), "memory": memory, "notes": list(notes)}
        )
        return
    if per_tile:
        show("\n".join(tile_lines(found.profile)))
    from tilewright.report.console import console
    from tilewright.report.memory_map import print_maps
    from tilewright.report.profile import print_profile

    print_profile(console(), found.profile)
    print_maps(console(), maps)
    for note in notes:
        show(printable(f"note: {note}"))
    for what, path in (("trace", trace), ("map", map_file)):
        if path is not None and str(path) != "-":
            show(printable(f"{what} written to {path}"))
