"""One page from whatever there is to show."""

from __future__ import annotations

from pathlib import Path

from tilewright.errors import CompileError
from tilewright.exploring.results import Results, read_results
from tilewright.ir.arrays import Given
from tilewright.profiling.saved import is_saved_profile, read_profile
from tilewright.program import Program
from tilewright.report.page.content import Page
from tilewright.report.page.plotly_library import plotly_script
from tilewright.report.page.profile_page import saved_page
from tilewright.report.page.program_page import program_page
from tilewright.report.page.study_page import study_page
from tilewright.report.page.write import write_page
from tilewright.run.result import Check


def write_report(what: Program | Results | str | Path, path: str | Path, inputs: Given | None = None) -> None:
    """Write a self-contained HTML page.

    `what` is a compiled program, which runs on its virtual SoC (with `inputs`, or random ones) and is watched; the
    results of `explore`, or their folder; or a file with the output of `tilewright profile --json`.
    """
    plotly_script()  # before anything is computed: it may be missing
    write_page(_page(what, inputs), Path(path))


def _page(what: Program | Results | str | Path, inputs: Given | None) -> Page:
    if isinstance(what, Program):
        named = "random" if inputs is None else str(inputs) if isinstance(inputs, str | Path) else "given"
        return program_page(what, what.profile(inputs), named, _checked(what, inputs))
    if inputs is not None:
        raise CompileError("inputs", "are for a program that is run", "leave them out")
    if isinstance(what, str | Path) and is_saved_profile(Path(what)):
        return saved_page(read_profile(Path(what)), Path(what).name)
    return study_page(what if isinstance(what, Results) else read_results(Path(what)))


def _checked(program: Program, inputs: Given | None) -> Check | None:
    """None where the reference cannot be computed: a network may be too large for it, and a profile is still of use."""
    try:
        return program.check(inputs)
    except CompileError:
        return None
