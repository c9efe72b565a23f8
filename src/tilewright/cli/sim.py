"""`tilewright sim`: any RISC-V program on a virtual SoC, any Cortex-M program in the emulator, any stream on an NPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.simulate import CHECKS, PLATFORM, emulated, simulate


def complete_platform() -> list[str]:
    from tilewright.sim.ethos_u.configurations import CONFIGURATIONS
    from tilewright.sim.platforms import PLATFORMS

    return sorted([*PLATFORMS, *emulated(), *CONFIGURATIONS])


def complete_check() -> list[str]:
    return list(CHECKS)


Program = Annotated[Path, typer.Argument(help="An ELF file; for an NPU a command stream.")]
PlatformName = Annotated[
    str, typer.Option("--platform", help="The SoC or core to simulate.", autocompletion=complete_platform)
]
Trace = Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="Write a trace for ui.perfetto.dev.")]
Profile = Annotated[bool, typer.Option("--profile", help="Print cycles per function.")]
MaxCycles = Annotated[int | None, typer.Option("--max-cycles", min=1, help="Stop the program after this many cycles.")]
Gdb = Annotated[
    int | None, typer.Option("--gdb", metavar="PORT", min=1, max=65535, help="Wait for gdb to connect to this port.")
]
Check = Annotated[
    list[str] | None,
    typer.Option(
        "--check", metavar="WHAT",
        help="Stop at reads of uninitialised memory (unwritten), writes to code and constants (protected), "
        "accesses to bytes of a running DMA transfer (transfers), or what the chip's public simulator does not run "
        "(misuse). Repeatable.", autocompletion=complete_check,
    ),
]  # fmt: skip
Device = Annotated[
    list[str] | None,
    typer.Option(
        "--device", metavar="ADDRESS=FILE.c", help="Add a device of your own, in C, at an address. Repeatable."
    ),
]
Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--region", metavar="NUMBER=FILE|BYTES", help="Memory behind a base pointer of an NPU: the bytes of a file, or "
        "a number of uninitialised bytes. Repeatable.",
    ),
]  # fmt: skip
Outputs = Annotated[
    list[str] | None,
    typer.Option("--output", metavar="NUMBER=FILE", help="Write a region of an NPU to a file. Repeatable."),
]
Cc = Annotated[
    str | None, typer.Option("--cc", help="C compiler that builds the simulator; the pip-installed zig by default.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]


def sim(
    program: Program, platform: PlatformName = PLATFORM, trace: Trace = None, profile: Profile = False,
    max_cycles: MaxCycles = None, gdb: Gdb = None, check: Check = None, device: Device = None, region: Regions = None,
    output: Outputs = None, cc: Cc = None, as_json: Json = False,
) -> int:  # fmt: skip
    """Run an ELF file on a virtual SoC or in the Cortex-M emulator, or a command stream on an NPU. The exit code is
    the program's."""
    return simulate(program, platform, trace, profile, max_cycles, gdb, check, device, cc, as_json, region, output)
