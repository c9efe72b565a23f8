"""What `tilewright sim` does: a program on a virtual SoC or in the emulator, and what is printed of the run.

The parser of command lines is not needed here: loading it takes as long as many programs take to simulate.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.process import REFUSED, error_dict, patient, print_json, show
from tilewright.errors import CompileError

if TYPE_CHECKING:
    from tilewright.sim.platform import Platform
    from tilewright.sim.results import Report
    from tilewright.sim.simulator import Simulator
    from tilewright.sim.watching.traces import FunctionTime
    from tilewright.target.runner import Machine

PLATFORM = "siracusa"
"""Where none is named."""
KILLED = 137
"""Exit code when the debugger kills the program, as a shell has it."""
CHECKS = ("unwritten", "protected", "transfers", "misuse")


def simulate(
    program: Path, platform: str = PLATFORM, trace: Path | None = None, profile: bool = False,
    max_cycles: int | None = None, gdb: int | None = None, check: list[str] | None = None,
    device: list[str] | None = None, cc: str | None = None, as_json: bool = False, region: list[str] | None = None,
    output: list[str] | None = None,
) -> int:  # fmt: skip
    """Run an ELF file; the exit code is the program's. For an NPU the program is a command stream."""
    if platform.startswith("ethos-u"):
        from tilewright.cli.simulate_npu import simulate_npu

        choices = {"--trace": trace, "--profile": profile, "--max-cycles": max_cycles, "--gdb": gdb}
        _refuse(platform, {**choices, "--check": check, "--device": device})
        return simulate_npu(program, platform, region, output, cc, as_json)
    _refuse(platform, {"--region": region, "--output": output})
    from tilewright.sim.platform import Flavour
    from tilewright.sim.program.elf import read_elf
    from tilewright.sim.simulator import Simulator

    devices, chosen = _devices(device), _platform(platform)
    _refuse_what_is_no_program(program)
    if chosen.groups[0].flavour == Flavour.THUMB:
        _refuse_on_emulator(platform, {"--trace": trace, "--gdb": gdb, "--check": check, "--device": device})
        return _emulate(program, chosen, profile, max_cycles, as_json)
    elf = read_elf(program)  # building the simulator may take a minute: a program that is none is told before
    with Simulator(_with_devices(chosen, devices), cc) as simulator:
        for name, (_, source) in devices.items():
            simulator.attach(name, source)
        simulator.check(**_checks(check))
        simulator.load(elf)
        if trace or profile:
            simulator.watch(trace=trace is not None)
        if gdb is not None and not _debug(simulator, gdb):
            return KILLED
        report = _run(simulator, max_cycles, as_json)
        if report is None:
            return REFUSED
        _print(simulator, report, trace, profile, as_json)
        return report.exit_code or 0


def _refuse_what_is_no_program(path: Path) -> None:
    from tilewright.frontends.model_files import is_model

    if is_model(path):
        hint = f"tilewright run {path} --target NAME compiles and simulates it"
        raise CompileError(str(path), "is a model, not a program", hint)
    if path.is_dir():
        hint = f"build it, for example with cmake -S {path} -B build, and give the program that this links"
        raise CompileError(str(path), "is a folder, not a program", hint)


def _refuse(platform: str, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise CompileError(name, f"is not supported by {platform}", "leave it out")


def _refuse_on_emulator(platform: str, options: dict[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise CompileError(name, f"is not supported by the emulator that runs {platform}", "leave it out")


def _emulate(program: Path, platform: Platform, profile: bool, max_cycles: int | None, as_json: bool) -> int:
    from tilewright.emulator.machine import Emulator
    from tilewright.emulator.qemu import Qemu
    from tilewright.emulator.unicorn_core import MODELS

    is_unicorns = platform.groups[0].name in MODELS
    if profile and not is_unicorns:
        raise CompileError("--profile", f"{platform.name} runs in QEMU, which does not support it", "leave it out")
    with Emulator(platform) if is_unicorns else Qemu(platform) as emulator:
        emulator.load(program)
        report = _run(emulator, max_cycles, as_json)
        if report is None:
            return REFUSED
        _print(emulator, report, None, profile, as_json)
        return report.exit_code or 0


def _run(simulator: Machine, max_cycles: int | None, as_json: bool) -> Report | None:
    """Run to the end; what the program printed is shown even where it ends in an error. None: so is the error."""
    try:
        return simulator.run(max_cycles)
    except CompileError as error:
        if as_json:
            print_json("error", {**error_dict(error), "stdout": simulator.stdout})
            return None
        print(simulator.stdout, end="", flush=True)
        raise


def _print(simulator: Machine, report: Report, trace: Path | None, profile: bool, as_json: bool) -> None:
    from tilewright.sim.simulator import Simulator

    times = _times(simulator) if profile else []
    if trace is not None and isinstance(simulator, Simulator):
        simulator.write_trace(trace)
    if as_json:
        functions = {"profile": [vars(row) for row in times]} if profile else {}
        print_json("sim", {"status": "ok", **report.as_dict(), **functions})
        return
    from tilewright.report import simulation

    show(report.stdout, end="")
    with patient(sys.stderr):
        simulation.print_report(sys.stderr, simulator.platform.name, report)
        if profile:
            simulation.print_profile(sys.stderr, times)


def _times(simulator: Machine) -> list[FunctionTime]:
    from tilewright.emulator.qemu import Qemu

    return [] if isinstance(simulator, Qemu) else simulator.profile()


def _debug(simulator: Simulator, port: int) -> bool:
    """False if the debugger killed the program."""
    from tilewright.sim.gdb import Server

    server = Server(simulator, port)
    print(f"waiting for gdb: target remote localhost:{port}", file=sys.stderr, flush=True)
    return server.serve()


def _checks(words: list[str] | None) -> dict[str, bool]:
    for word in words or ():
        if word not in CHECKS:
            raise CompileError(f"--check {word}", "there is no such check", f"checks: {', '.join(CHECKS)}")
    return dict.fromkeys(words or (), True)


def _devices(words: list[str] | None) -> dict[str, tuple[int, Path]]:
    """Device name -> address and source."""
    found: dict[str, tuple[int, Path]] = {}
    for word in words or ():
        address, sign, source = word.partition("=")
        if not sign or not _is_number(address):
            raise CompileError(f"--device {word}", "is not ADDRESS=FILE.c", "for example --device 0x30000000=mac.c")
        name = Path(source).stem
        found[f"{name} {address}" if name in found else name] = int(address, 0), Path(source)
    return found


def _is_number(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return True


def _platform(name: str) -> Platform:
    """One that comes with the simulator under its own name, or with the target of that name: targets take longer to
    import than most programs to simulate."""
    from tilewright.sim.platforms import PLATFORMS, find_platform

    if name in PLATFORMS and PLATFORMS[name].name == name:
        return PLATFORMS[name]
    from tilewright import targets

    target = targets.find(name) if name in targets.names() else None
    chip = None if target is None else target.runner.chip
    return chip or find_platform(name, emulated())


def _with_devices(platform: Platform, devices: dict[str, tuple[int, Path]]) -> Platform:
    for name, (address, _) in devices.items():
        platform = platform.with_device(name, address)
    return platform


def emulated() -> list[str]:
    """Targets that are cores of their own, in an emulator."""
    from tilewright import targets

    return [name for name in targets.names() if targets.find(name).runner.emulator]
