"""Instructions that a network executes on RISC-V with vectors, beside what IREE's compiler makes of it.

    python benchmarks/rvv_peers.py [--cpu NAME] [--iree PYTHON] [MODEL.onnx ...]

IREE's runtime has no package for RISC-V; its compiler writes code for it. That is linked with a program that calls the
dispatches of its schedule in their order (host_contestants/iree_dispatches.c). Fills of memory are not counted, nor
what is prepared once. Its buffers hold random numbers, so its results are not compared; ours are held to the reference.
The compiler is asked twice, for convolutions as they are and as products of matrices, and the better one counts.
Both run under the same emulator, and are counted by the same plugin. QEMU 7.2 aborts at conversions that cut floats
to narrower integers; in a program of IREE's they become those that round, one for one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.host_environments import SCRIPTS, Environment, Failed, done_by
from benchmarks.rvv_counting import Counts, counted
from benchmarks.rvv_networks import counts_of
from tests.support.networks import models, named_or

from tilewright.emulator.qemu_process import version_of
from tilewright.program import compile_model
from tilewright.run.host import Emulated, emulated
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import cache_folder, find_cross_compiler

IREE = ("iree-base-compiler[onnx]", "numpy")
USUAL = [*models("qdq/resnet8_cifar/*.onnx"), *models("qdq/mbv2_224/int8.onnx")]
FEATURES = {"spacemit-x60": "+m,+a,+f,+d,+c,+zicsr,+zifencei,+v,+zvl256b,+zba,+zbb,+zbs,+zvfhmin"}
FEATURES["rv64gcv"] = "+m,+a,+f,+d,+c,+zicsr,+zifencei,+v,+zvl128b"
OPTIONS = (
    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-opt-level=O3",
    "--iree-llvmcpu-target-triple=riscv64-unknown-linux-gnu", "--iree-llvmcpu-target-abi=lp64d",
    "--iree-llvmcpu-link-embedded=false", "--iree-llvmcpu-link-static",
)  # fmt: skip
GATHERED = "--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-global-opt-convert-conv2d-to-img2col))"
WAYS = {"convolutions as they are": (), "as products": (GATHERED,)}
NAME = "network"

LOOKUP = re.compile(r"(%[\w$]+) = hal\.executable\.lookup\.function target.*function\(@[\w$]+::@[\w$]+::@([\w$]+)\)")
DISPATCH = re.compile(
    r"hal\.command_buffer\.dispatch<.*?>[^\[]*\[(?P<function>%[\w$]+)\] workgroups\(\[(?P<groups>[^\]]*)\]\)"
    r"(?: constants\(\[(?P<constants>[^\]]*)\]\))? bindings\(\[(?P<bindings>.*?)\]\)", re.S
)  # fmt: skip
BINDING = re.compile(r"\((%[\w$]+)[^)]*\)\[([^,\]]+),\s*([^\]]+)\]")
CONSTANT = re.compile(r"%c(\d+)(?:_\d+)?(?:_i\d+)?")

LAST_THAT_ABORTS = 7
NARROWING, MASK = 0b010010 << 26 | 1 << 12 | 0x57, 0x3F << 26 | 7 << 12 | 0x7F
"""vfncvt and vfcvt of RISC-V: what they do is in the five bits from 15 on."""
ROUNDING = {0b10111: 0b10001, 0b10110: 0b10000, 0b00111: 0b00001, 0b00110: 0b00000}


@dataclass(frozen=True)
class Binding:
    buffer: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Step:
    function: str
    groups: tuple[int, ...]
    constants: tuple[int, ...]
    bindings: tuple[Binding, ...]


# ---- what IREE made -------------------------------------------------------------------------------------------------


def schedule_in(text: str) -> list[Step]:
    """Of the function that has most dispatches: the network's own, those of constants apart."""
    functions = [part for part in re.split(r"(?=util\.func )|(?=util\.initializer)", text) if "async" in part[:200]]
    if not functions:
        raise Failed("IREE's schedule has no function")
    return list(_steps(max(functions, key=lambda part: part.count("hal.command_buffer.dispatch<"))))


def _steps(text: str) -> Iterator[Step]:
    names = dict(LOOKUP.findall(text))
    for found in DISPATCH.finditer(text):
        bindings = BINDING.findall(found["bindings"])
        yield Step(
            names[found["function"]], _numbers(found["groups"]), _numbers(found["constants"] or ""),
            tuple(Binding(buffer, _number(offset), _number(size)) for buffer, offset, size in bindings),
        )  # fmt: skip


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_number(word) for word in text.split(",") if word.strip())


def _number(word: str) -> int:
    found = CONSTANT.fullmatch(word.strip())
    if found is None:
        raise Failed(f"{word.strip()} in IREE's schedule is no constant: its sizes are not known")
    return int(found[1])


# ---- as a program ---------------------------------------------------------------------------------------------------


def header(steps: Sequence[Step], floats: bool) -> str:
    """dispatches.h of host_contestants/iree_dispatches.c."""
    bindings = [binding for step in steps for binding in step.bindings]
    buffers = list(dict.fromkeys(binding.buffer for binding in bindings))
    sizes = [max(one.offset + one.bytes for one in bindings if one.buffer == name) for name in buffers]
    lines = [f"#define LIBRARY {NAME}_linked_library_query", f"#define OF_FLOATS {int(floats)}"]
    for number, step in enumerate(steps):
        places = ", ".join(f"{{{buffers.index(one.buffer)}, {one.offset}, {one.bytes}}}" for one in step.bindings)
        constants = ", ".join(f"{value}u" for value in step.constants or (0,))
        lines += [f"static const Binding bindings_{number}[] = {{{places}}};"]
        lines += [f"static const uint32_t constants_{number}[] = {{{constants}}};"]
    lines += ["static const Step steps[] = {", *(_row(*one) for one in enumerate(steps)), "};"]
    return "\n".join([*lines, f"static const size_t buffer_bytes[] = {{{', '.join(map(str, sizes))}}};", ""])


def _row(number: int, step: Step) -> str:
    groups = ", ".join(map(str, step.groups))
    counts = f"{len(step.constants)}, {len(step.bindings)}"
    return f'    {{"{step.function}", {{{groups}}}, {counts}, constants_{number}, bindings_{number}}},'


def program_of(model: Path, cpu: str, iree: Path, way: Sequence[str], folder: Path) -> Path:
    tools, text, phases = iree.parent, folder / f"{NAME}.mlir", folder / "phases"
    done_by([tools / "iree-import-onnx", model, "--opset-version", "17", "-o", text])
    features = f"--iree-llvmcpu-target-cpu-features={FEATURES[cpu]}"
    object_file = f"--iree-llvmcpu-static-library-output-path={NAME}.o"
    dump = f"--dump-compilation-phases-to={phases}"
    command = [tools / "iree-compile", text, *OPTIONS, features, *way, object_file, dump, "-o", folder / "out.vmfb"]
    done_by(command, folder)
    steps = schedule_in(next(phases.glob("*.hal.mlir")).read_text())
    (folder / "dispatches.h").write_text(header(steps, floats=b"QuantizeLinear" not in model.read_bytes()))
    program = folder / "program"
    zig = [*find_cross_compiler().command, "-target", "riscv64-linux-musl", "-O2", "-I", folder]
    done_by([*zig, SCRIPTS / "iree_dispatches.c", folder / f"{NAME}.o", "-lm", "-o", program])
    return program


def with_rounding(code: bytes) -> bytes:
    """Conversions to narrower integers that cut, as those that round."""
    changed = bytearray(code)
    for at in range(0, len(code) - 3, 2):
        word = int.from_bytes(code[at : at + 4], "little")
        rounding = ROUNDING.get(word >> 15 & 31)
        if word & MASK == NARROWING and rounding is not None:
            changed[at : at + 4] = (word & ~(31 << 15) | rounding << 15).to_bytes(4, "little")
    return bytes(changed)


# ---- counting -------------------------------------------------------------------------------------------------------


def of_iree(model: Path, cpu: str, iree: Path, emulator: Emulated) -> dict[str, Counts]:
    found = {}
    for name, way in WAYS.items():
        with tempfile.TemporaryDirectory() as place:
            program = program_of(model, cpu, iree, way, Path(place))
            if version_of(emulator.command[0])[0] <= LAST_THAT_ABORTS:
                program.write_bytes(with_rounding(program.read_bytes()))
            none, one = (counted(emulator.command, program, [calls], Path(place)) for calls in ("0", "1"))
            found[name] = one - none
    return found


def row(model: Path, cpu: str, iree: Path) -> str:
    program = compile_model(model, target="cpu", settings=Settings(cpu=cpu))
    check, emulator = program.check(), emulated(program.compiled.schedule.target)
    if emulator is None:
        raise Failed("this machine is one of RISC-V: count by its own counters")
    ours = counts_of(program, list(emulator.command))
    ways = of_iree(model, cpu, iree, emulator)
    way = min(ways, key=lambda name: ways[name].all)
    theirs = ways[way]
    return "  ".join([
        f"{model.parent.name + '/' + model.stem:30}", "agrees " if check.agrees else "DIFFERS", f"{ours.all:>13,}",
        f"{ours.vector:>13,}", f"{theirs.all:>13,}", f"{theirs.vector:>13,}", f"{ours.all / theirs.all:6.2f}", way,
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", choices=tuple(FEATURES), default="spacemit-x60")
    parser.add_argument("--iree", type=Path, help="a Python that has iree.compiler; else pip installs it")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    try:
        iree = options.iree or Environment(cache_folder() / "host_peers" / "environments", IREE).ready().python
        print("network, agreement, instructions, of them vector, of IREE, of them vector, ratio, IREE's way")
        for path in named_or(options.models, USUAL):
            print(row(path, options.cpu, iree.absolute()), flush=True)
    except (Failed, subprocess.SubprocessError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
