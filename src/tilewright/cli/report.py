"""`tilewright report`: a run, a profile or a study as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.options import Cc, InputFile, Json, Name, Planning, complete_target
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError, printable
from tilewright.frontends.model_files import is_model

What = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL|PROFILE|STUDY",
        help="A model to run, a saved output of `profile --json`, or the folder of an `explore` study.",
    ),
]
ReportTarget = Annotated[
    str, typer.Option("--target", help="For a model: what to compile it for.", autocompletion=complete_target)
]
PageFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="PAGE.html", help="The page to write; NAME.html by default.")
]

STUDY = "results.json"


def report(
    what: What, binding: Binding, planning: Planning, target: ReportTarget = "", output: PageFile = None,
    inputs: InputFile = None, name: Name = "", cc: Cc = None, as_json: Json = False,
) -> int:  # fmt: skip
    """Write an HTML page with charts and tables of a simulated run, a saved profile or a study."""
    from tilewright.report.page.write import refuse_place

    path = output or Path(f"{what.resolve().stem}.html")
    _check_exists(what)
    refuse_place(path)
    if _is_saved(what):
        _report_saved(what, target, path)
    else:
        _report_model(what, binding, planning, target, path, inputs, name, cc)
    if as_json:
        print_json("report", {"status": "ok", "page": str(path), "bytes": path.stat().st_size})
    else:
        show(printable(f"page written to {path}"))
    return AGREES


def _check_exists(what: Path) -> None:
    """A folder may be a model, too: it is one where a target is named."""
    if not what.exists():
        raise CompileError(str(what), "does not exist", "give a model, or the folder of `tilewright explore`")


def _is_saved(what: Path) -> bool:
    """A study, or a profile."""
    from tilewright.profiling.saved import is_saved_profile

    return (what / STUDY).is_file() or is_saved_profile(what)


def _report_saved(what: Path, target: str, path: Path) -> None:
    from tilewright.report.page.write_report import write_report

    if target:
        named = "is a study, which names its targets" if what.is_dir() else "is a saved profile, which names its target"
        raise CompileError(f"--target {target}", f"{what} {named}", "leave it out")
    with uninterrupted():
        write_report(what, path)


def _no_target(what: Path) -> CompileError:
    if what.suffix == ".toml":
        hint = f"`tilewright explore {what}` computes it; report takes the folder that this writes"
        return CompileError(str(what), "describes a study, and holds no results", hint)
    if what.is_dir():
        hint = "give the folder of `tilewright explore`, or a model and its --target"
        return CompileError(str(what), f"is no study: there is no {STUDY} in it", hint)
    if not is_model(what):
        return CompileError(str(what), "is no model, study or saved profile", "give a model with --target, or a folder")
    return CompileError(str(what), "is a model, and --target is missing", "`tilewright targets` lists them")


def _report_model(
    model: Path, binding: Binding, planning: Planning, target: str, path: Path, inputs: Path | None, name: str,
    cc: str | None,
) -> None:  # fmt: skip
    from tilewright.cli.simulating import watched
    from tilewright.program import compile_model
    from tilewright.report.page.plotly_library import plotly_script
    from tilewright.report.page.write_report import write_report

    if not target and not planning.board_name:
        raise _no_target(model)
    plotly_script()  # before anything is computed: it may be missing
    settings, target = planning.settings(), planning.target(target)
    with progress_display() as progress:
        program = compile_model(
            model, inputs, target, name=name, cc=cc, settings=settings, progress=progress, **binding.options()
        )
        progress("simulating")
        with watched(progress, program.analysis.predicted_cycles):
            write_report(program, path, inputs)
