"""The command line: its commands, each in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tilewright.cli.accelerator import app as accelerator_app
from tilewright.cli.analyze import analyze
from tilewright.cli.calibrate import calibrate
from tilewright.cli.catalogue import ops, targets_command
from tilewright.cli.compile import compile_command
from tilewright.cli.explore import explore
from tilewright.cli.export import export
from tilewright.cli.generate import GenerateCommand, generate
from tilewright.cli.groups import grouped
from tilewright.cli.process import run_command
from tilewright.cli.profile import profile
from tilewright.cli.quantise import quantise
from tilewright.cli.report import report
from tilewright.cli.run import run
from tilewright.cli.sim import sim
from tilewright.version import VERSION

app = typer.Typer(
    name="tilewright", help="Any trained network in, bare-metal C out.", no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip

app.command()(grouped(analyze))
app.command("compile")(grouped(compile_command))
app.command()(grouped(run))
app.command()(grouped(profile))
app.command()(grouped(quantise))
app.command(cls=GenerateCommand)(grouped(generate))
app.command()(grouped(export))
app.command()(explore)
app.command()(grouped(report))
app.command()(calibrate)
app.command()(sim)
app.command()(ops)
app.command("targets")(targets_command)
app.add_typer(accelerator_app, name="accelerator")


def main(arguments: Sequence[str] | None = None) -> None:
    run_command(app, arguments)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Any trained network in, bare-metal C out."""
