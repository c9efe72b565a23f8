"""`tilewright accelerator`: a folder to begin with, its check, its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.process import AGREES, print_json, progress_display, show

app = typer.Typer(help="Accelerators of your own: new, check, driver, page.", no_args_is_help=True)

Folder = Annotated[str, typer.Argument(metavar="FOLDER[:NAME=VALUE,...]", help="The folder that holds accelerator.py.")]
Target = Annotated[str, typer.Option("--target", help="The target to run jobs on; one with a virtual SoC.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and underscores.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The folder; NAME by default.")] = None,
    in_c: Annotated[bool, typer.Option("--c", help="Write the device model in C instead of Python.")] = False,
    as_json: Json = False,
) -> int:
    """Write the folder of a small accelerator that works, to start from."""
    from tilewright.bringup.skeleton import new_folder

    folder = output or Path(name)
    files = new_folder(name, folder, in_c)
    if as_json:
        print_json({"status": "ok", "folder": str(folder), "files": [str(path) for path in files]})
    else:
        show(f"written: {', '.join(map(str, files))}\nnext: tilewright accelerator check {folder}")
    return AGREES


@app.command()
def check(
    folder: Folder, target: Target = "",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Number of random jobs for every pattern.")] = 12,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random jobs.")] = 0, as_json: Json = False,
) -> int:  # fmt: skip
    """Run random jobs of every pattern through the driver and the device model, and compare with numpy."""
    from tilewright.bringup.check import check_folder

    with progress_display() as progress:
        progress("running jobs")
        found = check_folder(folder, target, jobs, seed)
    if as_json:
        unchecked = {one.pattern: one.unchecked for one in found if one.unchecked}
        print_json({"status": "agree", "patterns": {one.pattern: one.jobs for one in found}, "unchecked": unchecked})
    else:
        show("\n".join(f"{one.pattern}: {_said(one.jobs, one.unchecked)}" for one in found))
    return AGREES


def _said(jobs: int, unchecked: str) -> str:
    return f"not checked: {unchecked}" if unchecked else f"{jobs} random jobs agree with numpy"


@app.command()
def driver(folder: Folder, target: Target = "", as_json: Json = False) -> int:
    """Print the generated drivers. A driver.c in the folder replaces them."""
    from tilewright.bringup.sources import drivers

    texts = drivers(folder, target)
    if as_json:
        print_json({"status": "ok", "files": texts})
    else:
        show("\n".join(f"/* ---- {name} ---- */\n{text}" for name, text in texts.items()))
    return AGREES


@app.command()
def page(folder: Folder, as_json: Json = False) -> int:
    """Print a documentation page of the accelerator, generated from its declaration."""
    from tilewright.accelerator.folder import read_folder
    from tilewright.bringup.page import page as page_of

    text = page_of(read_folder(folder).accelerator)
    if as_json:
        print_json({"status": "ok", "text": text})
    else:
        show(text)
    return AGREES
