"""`tilewright calibrate`: what kernels and transfers of a target cost, measured on its virtual SoC or this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError
from tilewright.whole_file import written_whole

TargetName = Annotated[
    str, typer.Argument(help="A target that can be simulated, for example siracusa or cortex-m4; or cpu.")
]
CostsFile = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE",
        help="The costs file to write; the target's own by default, for cpu one in the cache folder that is used then.",
    ),
]  # fmt: skip
AcceleratorFolder = Annotated[
    str,
    typer.Option(
        "--accelerator", metavar="FOLDER[:NAME=VALUE,...]",
        help="Calibrate this accelerator on the target instead, and write its costs.json.",
    ),
]  # fmt: skip
KernelStems = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel", metavar="STEM",
        help="Measure this kernel alone, its cycles and its stack, and keep what is known of the others. Repeatable.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]


def calibrate(
    target: TargetName, output: CostsFile = None, as_json: Json = False, accelerator: AcceleratorFolder = "",
    kernel: KernelStems = None,
) -> int:  # fmt: skip
    """Measure the cycles of a target's kernels, and write them to the costs file that the planner reads."""
    if accelerator and kernel:
        raise CompileError(f"--kernel {kernel[0]}", "is for the target's own kernels", "leave --accelerator out")
    if accelerator:
        return _calibrate_accelerator(accelerator, target, output, as_json)
    if kernel:
        return _calibrate_kernels(target, tuple(dict.fromkeys(kernel)), output, as_json)
    from tilewright import targets
    from tilewright.calibration.measuring import as_text, calibration

    found = targets.find(target)
    path = output or found.costs_file
    with progress_display() as progress:
        result = calibration(found, progress)
        with uninterrupted():
            if output is None:
                path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, as_text(result.as_dict()))
    if as_json:
        print_json("calibrate", {"status": "ok", "target": found.name, "output": str(path), **result.as_dict()})
        return AGREES
    from tilewright.report.calibration import print_calibration
    from tilewright.report.console import console

    print_calibration(console(), found.name, result, path, found.runner.unit)
    return AGREES


def _calibrate_kernels(name: str, stems: tuple[str, ...], output: Path | None, as_json: bool) -> int:
    from tilewright import targets
    from tilewright.calibration.measuring import as_text
    from tilewright.calibration.some_kernels import as_stacks, known_in, some_kernels, stacks_file

    target = targets.find(name)
    path, stacks = output or target.costs_file, stacks_file(target, output)
    with progress_display() as progress:
        found = some_kernels(target, stems, progress)
        with uninterrupted():
            _write(path, as_text(found.among_costs(known_in(target.costs_file))))
            if found.stacks:
                _write(stacks, as_stacks(found.among_stacks(target.stacks)))
    if as_json:
        shown = {**found.among_costs({}), "stacks": dict(found.stacks)}
        print_json("calibrate-kernels", {"status": "ok", "target": target.name, "output": str(path), **shown})
        return AGREES
    lines = [
        f"{fit.key}: {fit.samples} samples, median error {fit.median_error:.1%}, the largest {fit.worst_error:.1%}"
        for fit in found.fits
    ]
    lines += [f"{stem}: {size} bytes of stack" for stem, size in found.stacks.items()]
    show("\n".join([*lines, f"written to {path.name}{f' and {stacks.name}' if found.stacks else ''}"]))
    return AGREES


def _calibrate_accelerator(words: str, target: str, output: Path | None, as_json: bool) -> int:
    from tilewright.accelerator.folder import COSTS
    from tilewright.accelerator.unit import ANY
    from tilewright.bringup.fit import fit, write_costs

    with progress_display() as progress:
        progress("running jobs")
        unit, found = fit(words, target)
        path = output or unit.folder / COSTS
        with uninterrupted():
            write_costs(path, target, found.costs)
    if as_json:
        shown = {**asdict(found.costs), "error": found.error, "device_error": found.device_error, "jobs": found.jobs}
        print_json(
            "calibrate-accelerator",
            {"status": "ok", "accelerator": unit.name, "target": target, "output": str(path), **shown},
        )
        return AGREES
    costs, ways = found.costs, [cycles for way, cycles in found.costs.finish.items() if way != ANY]
    finish = f", {min(ways):.1f} to {max(ways):.1f} for each result that it requantises" if ways else ""
    lines = [
        f"{unit.name} on {target}: {costs.scale:.3f} cycles of the device for each declared one, {costs.submit:.0f} of",
        f"a core for each job{finish}",
        f"predicted against simulated, median of {found.jobs} jobs: {found.error:.1%} off (the device alone "
        f"{found.device_error:.1%})",
        f"written to {output or f'{unit.folder.name}/{COSTS}'}",
    ]
    show("\n".join(lines))
    return AGREES


def _write(path: Path, text: str) -> None:
    with written_whole(path) as file:
        file.write(text.encode())
