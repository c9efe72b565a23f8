"""`tilewright instruction`: a declaration to begin with, its check, its header, what it would save."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.help import PlainCommand, PlainGroup
from tilewright.cli.options import Model
from tilewright.cli.process import AGREES, DISAGREES, print_json, progress_display, show

if TYPE_CHECKING:
    from tilewright.bringup.instruction_search import Searched
    from tilewright.bringup.instruction_trial import Change, Counts, Trial

app = typer.Typer(cls=PlainGroup, help="Instructions of your own: new, check, header, try, find.", no_args_is_help=True)

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder that holds instruction.toml.")]
Target = Annotated[str, typer.Option("--target", help="A target whose cores the virtual SoC has.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
HEADINGS = ("#", "layer", "instructions", "after", "cycles", "after", "faster", "uJ", "after")


@app.command(cls=PlainCommand)
def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and underscores.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The folder; NAME by default.")] = None,
    implements: Annotated[
        str, typer.Option("--implements", metavar="PATTERN", help="The pattern of kernels that it is for.")
    ] = "dot4_s8",
    as_json: Json = False,
) -> int:
    """Write the folder of a small instruction that works, to start from."""
    from tilewright.bringup.skeleton import new_instruction

    folder = output or Path(name)
    path = new_instruction(name, folder, implements)
    if as_json:
        print_json("instruction-new", {"status": "ok", "folder": str(folder), "files": [str(path)]})
    else:
        show(f"written: {path}\nnext: tilewright instruction try {folder} MODEL --target rv32")
    return AGREES


@app.command(cls=PlainCommand)
def check(folder: Folder, target: Target = "rv32", as_json: Json = False) -> int:
    """Try semantics and Verilog of a declaration on random operands, and check that its encoding is free."""
    from tilewright import targets
    from tilewright.instruction.attach import with_instructions
    from tilewright.instruction.declaration import read_instruction
    from tilewright.instruction.rtl import check_rtl
    from tilewright.instruction.semantics import TRIALS

    with_instructions(targets.find(target), [folder])
    one = read_instruction(folder)
    is_compared = check_rtl(one)
    file = one.rtl.name if one.rtl else ""
    if as_json:
        print_json(
            "instruction-check",
            {
                "status": "ok",
                "name": one.name,
                "mask": one.mask,
                "match": one.match,
                "trials": TRIALS,
                **({"rtl": file} if is_compared else {}),
            },
        )
        return AGREES
    same = f", equal to the pattern {one.implements}" if one.implements else ""
    show(f"{one.name}: {one.match:#010x}, of which {one.mask:#010x} say that it is this one; nobody else's on {target}")
    show(f"semantics: defined for {TRIALS:,} random operands{same}")
    if is_compared:
        show(f"{file}: equal to the semantics for {TRIALS:,} random operands")
    elif file:
        show(f"{file}: not compared with the semantics, verilator is not installed")
    return AGREES


@app.command(cls=PlainCommand)
def header(folder: Folder, as_json: Json = False) -> int:
    """Print the C header with the instruction as a function."""
    from tilewright.instruction.declaration import read_instruction
    from tilewright.instruction.header import HEADER
    from tilewright.instruction.header import header as header_of
    from tilewright.instruction.semantics import check_semantics

    one = read_instruction(folder)
    check_semantics(one)
    text = header_of([one])
    if as_json:
        print_json("instruction-header", {"status": "ok", "files": {HEADER: text}})
    else:
        show(text, end="")
    return AGREES


@app.command("try", cls=PlainCommand)
def try_(folder: Folder, model: Model, target: Target = "rv32", as_json: Json = False) -> int:
    """Run a network without and with the instruction, and compare layer by layer; outputs are checked."""
    from tilewright.bringup.instruction_trial import tried
    from tilewright.target.settings import DEFAULT

    with progress_display() as progress:
        progress("running the network without and with it")
        found = tried(folder, model, target, DEFAULT)
    if as_json:
        print_json("instruction-try", {"status": "agree" if found.agrees else "disagree", **found.as_dict()})
    else:
        _print(found)
    return AGREES if found.agrees else DISAGREES


@app.command(cls=PlainCommand)
def find(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="The networks to save instructions in.")],
    target: Annotated[str, typer.Option("--target", help="rv32, or another core of its family.")] = "rv32",
    count: Annotated[int, typer.Option("--count", min=1, max=16, help="Number of instructions.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write each declaration into its own folder inside this one.")
    ] = None,
    only_blocks: Annotated[
        bool, typer.Option("--only-blocks", help="Leave out patterns, whose kernels need data in another order.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Propose the instructions that save most on some networks, and measure each beside those before it."""
    import tempfile

    from tilewright.bringup.instruction_search import searched
    from tilewright.target.settings import DEFAULT

    with progress_display() as progress, tempfile.TemporaryDirectory() as draft:
        found = searched(models, target, DEFAULT, Path(draft), count, progress, only_blocks)
        written = found.write(output) if output else []
    if as_json:
        print_json("instruction-find", {"status": "agree", **found.as_dict(), "files": [str(path) for path in written]})
    else:
        _print_found(found)
        show("\n".join(f"written: {path}" for path in written), end="\n" if written else "")
    return AGREES


def _print_found(found: Searched) -> None:
    from tilewright.report.text_table import print_table

    rows = [
        [f"{number} {one.instruction.name}", f"{one.predicted:,}", f"{one.measured:,}", one.how]
        for number, one in enumerate(found.proposals, 1)
    ]
    title = f"instructions for {', '.join(found.before)} on {found.target}"
    print_table(sys.stdout, title, ("instruction", "predicted", "saved", "measured as"), rows)
    for number, one in enumerate(found.proposals, 1):
        show(f"{number} {' '.join(one.instruction.operands)}: {one.instruction.semantics}")
    if not found.proposals:
        show("nothing that one instruction could do is executed often enough")
        return
    show("")
    headings = ("network", "instructions", "after", "fewer", "cycles", "after", "faster")
    print_table(sys.stdout, "all together", headings, [_network(found, name) for name in found.before])
    show("outputs are equal before and after")


def _network(found: Searched, name: str) -> list[str]:
    was, now = found.before[name], found.after[name]
    fewer, faster = was.instructions / now.instructions, was.cycles / now.cycles
    return [
        name, f"{was.instructions:,}", f"{now.instructions:,}", f"{fewer:.2f} x", f"{was.cycles:,}", f"{now.cycles:,}",
        f"{faster:.2f} x",
    ]  # fmt: skip


def _print(found: Trial) -> None:
    from tilewright.bringup.instruction_trial import verdict
    from tilewright.report.text_table import print_table

    title = f"{found.network} on {found.target}, without and with {found.instruction.name}"
    has_energy = found.total.before.microjoules is not None
    shown = len(HEADINGS) if has_energy else len(HEADINGS) - 2
    rows = [_cells(one)[:shown] for one in (*found.layers, found.total)]
    print_table(sys.stdout, title, HEADINGS[:shown], rows, names=2)
    if not has_energy:
        show(f"energy: not counted, {found.target} has no model of it")
    if found.area is not None:
        area = found.area
        fpga = f"{area.ice40.luts:,} LUTs and {area.ice40.dsps} DSPs of iCE40"
        show(f"area: {area.gate_equivalents:,.0f} gate equivalents, {fpga} ({area.tool})")
    elif found.instruction.rtl is not None:
        show("area: not counted, yosys is not installed")
    show(verdict(found))
    show("outputs agree with the reference" if found.agrees else "outputs differ from the reference")


def _cells(one: Change) -> list[str]:
    def pair(counts: Counts) -> tuple[str, str, str]:
        instructions = "" if counts.instructions is None else f"{counts.instructions:,}"
        energy = "" if counts.microjoules is None else f"{counts.microjoules:,.2f}"
        return instructions, f"{counts.cycles:,}", energy

    (first, second, third), (fourth, fifth, sixth) = pair(one.before), pair(one.after)
    number = "" if one.number is None else f"{one.number:>2}"
    faster = "new" if not one.before.cycles else "gone" if one.speedup is None else f"{one.speedup:.2f} x"
    return [number, one.name, first, fourth, second, fifth, faster, third, sixth]
