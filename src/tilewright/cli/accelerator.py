"""`tilewright accelerator`: a folder to begin with, its check, its page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.help import PlainCommand, PlainGroup
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted

app = typer.Typer(
    cls=PlainGroup, help="Accelerators of your own: new, check, fit, area, driver, page.", no_args_is_help=True
)

Folder = Annotated[str, typer.Argument(metavar="FOLDER[:NAME=VALUE,...]", help="The folder that holds accelerator.py.")]
Target = Annotated[str, typer.Option("--target", help="The target to run jobs on; one with a virtual SoC.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]


@app.command(cls=PlainCommand)
def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and underscores.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The folder; NAME by default.")] = None,
    in_c: Annotated[bool, typer.Option("--c", help="Write the device model in C instead of Python.")] = False,
    in_verilog: Annotated[bool, typer.Option("--rtl", help="Write the device in Verilog.")] = False,
    as_json: Json = False,
) -> int:
    """Write the folder of a small accelerator that works, to start from."""
    from tilewright.bringup.skeleton import new_folder

    folder = output or Path(name)
    files = new_folder(name, folder, in_c, in_verilog)
    if as_json:
        print_json("accelerator-new", {"status": "ok", "folder": str(folder), "files": [str(path) for path in files]})
    else:
        show(f"written: {', '.join(map(str, files))}\nnext: tilewright accelerator check {folder}")
    return AGREES


@app.command(cls=PlainCommand)
def check(
    folder: Folder, target: Target = "",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Number of random jobs for every pattern.")] = 12,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random jobs.")] = 0, as_json: Json = False,
) -> int:  # fmt: skip
    """Run random jobs of every pattern through the driver and the device model, and compare with numpy."""
    from tilewright.bringup.beside_rtl import check_beside_rtl
    from tilewright.bringup.check import check_folder

    with progress_display() as progress:
        progress("running jobs")
        found = check_folder(folder, target, jobs, seed)
        progress("running jobs on the Verilog")
        beside = check_beside_rtl(folder, target, jobs, seed)
    if as_json:
        unchecked = {one.pattern: one.unchecked for one in found if one.unchecked}
        patterns = {one.pattern: one.jobs for one in found}
        rtl = {"rtl": dataclasses.asdict(beside)} if beside else {}
        print_json("accelerator-check", {"status": "agree", "patterns": patterns, "unchecked": unchecked, **rtl})
    else:
        show("\n".join(f"{one.pattern}: {_said(one.jobs, one.unchecked)}" for one in found))
        if beside is not None:
            off = f"{beside.median:.2%} off (median), at most {beside.worst:.2%} ({beside.pattern})"
            show(f"the Verilog: {beside.jobs} jobs agree with numpy; the model's cycles are {off}")
    return AGREES


@app.command(cls=PlainCommand)
def fit(folder: Folder, target: Target = "", as_json: Json = False) -> int:
    """Fit the declared cycles to the Verilog, job by job, and write costs.json, which the planner uses there."""
    from tilewright.accelerator.folder import COSTS
    from tilewright.bringup.fit import fit_to_rtl, target_or_first, write_costs

    wanted = target_or_first(target)
    with progress_display() as progress:
        progress("running jobs on the Verilog")
        unit, found = fit_to_rtl(folder, wanted)
        with uninterrupted():
            write_costs(unit.folder / COSTS, wanted, found.costs)
    if as_json:
        shown = {
            "accelerator": unit.name, "target": wanted, "output": str(unit.folder / COSTS), "scale": found.costs.scale,
            "declared_error": found.declared_error, "device_error": found.device_error, "error": found.error,
            "jobs": found.jobs,
        }  # fmt: skip
        print_json("accelerator-fit", {"status": "ok", **shown})
    else:
        show(
            f"{unit.name} on {wanted}: declared cycles are {found.declared_error:.2%} off those of the Verilog (median "
            f"of {found.jobs} jobs),\n{found.device_error:.2%} when each counts {found.costs.scale:.3f}; with its "
            f"driver {found.error:.1%}\nwritten to {unit.folder.name}/{COSTS}"
        )
    return AGREES


def _said(jobs: int, unchecked: str) -> str:
    return f"not checked: {unchecked}" if unchecked else f"{jobs} random jobs agree with numpy"


@app.command(cls=PlainCommand)
def area(folder: Folder, as_json: Json = False) -> int:
    """Synthesise the device's Verilog with yosys: gates, and the parts of two families of FPGAs."""
    from tilewright.accelerator.area import Fpga, rtl_area

    def parts(fpga: Fpga) -> str:
        return f"{fpga.luts:,} LUTs, {fpga.flip_flops:,} flip-flops, {fpga.dsps:,} DSPs, {fpga.block_rams:,} block RAMs"

    with progress_display() as progress:
        progress("synthesising")
        found = rtl_area(folder)
    if as_json:
        print_json("accelerator-area", {"status": "ok", **dataclasses.asdict(found)})
    else:
        show(
            f"{found.gate_equivalents:,.0f} gate equivalents: {found.cells:,} cells, of which {found.flip_flops:,} are "
            f"flip-flops\niCE40: {parts(found.ice40)}\nXilinx 7: {parts(found.xilinx)}\nby {found.tool}"
        )
    return AGREES


@app.command(cls=PlainCommand)
def driver(folder: Folder, target: Target = "", as_json: Json = False) -> int:
    """Print the generated drivers. A driver.c in the folder replaces them."""
    from tilewright.bringup.sources import drivers

    texts = drivers(folder, target)
    if as_json:
        print_json("accelerator-driver", {"status": "ok", "files": texts})
    else:
        show("\n".join(f"/* ---- {name} ---- */\n{text}" for name, text in texts.items()))
    return AGREES


@app.command(cls=PlainCommand)
def page(folder: Folder, as_json: Json = False) -> int:
    """Print a documentation page of the accelerator, generated from its declaration."""
    from tilewright.accelerator.folder import read_folder
    from tilewright.bringup.page import page as page_of

    text = page_of(read_folder(folder).accelerator)
    if as_json:
        print_json("accelerator-page", {"status": "ok", "text": text})
    else:
        show(text)
    return AGREES
