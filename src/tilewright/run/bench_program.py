"""A program that calls kernels one by one: its C, with what boots it, and the ELF made of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tilewright.codegen import board_program, cluster_program
from tilewright.codegen.initialiser import initialiser
from tilewright.codegen.kernels import PREFIX_FILE, Instance, included
from tilewright.ir.op import Params
from tilewright.records import dataclass
from tilewright.run.bench_memory import STACK, VARIABLES, stack_bytes
from tilewright.target.kernel import Argument
from tilewright.target.runner import QEMU
from tilewright.target.target import Target
from tilewright.toolchain.compiler import STRICT, compile_objects, find_cross_compiler, link_objects

CALLS = Path(__file__).parent / "c" / "bench_calls.h"
"""Calls the case that was asked for, twice."""
CORES, ANY_CORES = (Path(__file__).parent / "c" / name for name in ("cores.S", "cores.h"))
"""Say the number of cores to kernels that are compiled for any: to the linker, and where the linker says it."""
ASKS = "-DTW_BENCH_ASKS"
"""In QEMU the program asks how many cycles have passed."""
OFFLOADING = ("accelerator.c", "units.c", "dma.c")
"""Of a cluster's runtime, where it waits for accelerators."""


@dataclass(frozen=True, eq=False)
class BenchCall:
    """A kernel and what it is called with."""

    instance: Instance
    params: Params
    places: Mapping[str, int]
    """Addresses of operands, results, working memory and parameters."""
    tensors: Sequence[str]
    """Which of them are operands and results."""

    @property
    def params_pointer(self) -> str:
        return f"(void *){self.places['params']:#x}"


def build(folder: Path, calls: Sequence[BenchCall], target: Target, cores: int, any_cores: bool) -> Path:
    """With `any_cores` kernels learn the number of cores from the linker."""
    instances = {f"kernels/{call.instance.file}": call.instance for call in calls}
    runtime = _runtime_sources(target, _has_runtime_jobs(calls, target))
    texts = {name: instance.text(target.kernel_text) for name, instance in instances.items()}
    texts["main.c"] = _main(calls, target)
    texts = _surroundings(target) | texts
    for name, text in (_headers(texts, target) | texts).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    headers = ["-I.", "-Iruntime/libc", "-Ikernels"]
    asks = [ASKS] if target.runner.emulator == QEMU else []
    always = [*STRICT, *target.flags, *headers, *asks]
    compiled = [*always, f"-DTW_CORES={cores}", f"-DTW_BENCH_STACK={STACK}"]
    of_kernels = [*always, "-include", ANY_CORES.name] if any_cores and target.agents.cores > 1 else compiled
    sources = dict.fromkeys((folder / name for name in ("boot.S", CORES.name, "main.c", *runtime)), compiled)
    sources |= dict.fromkeys((folder / name for name in instances), of_kernels)
    compiler, program = find_cross_compiler(), folder / "bench.elf"
    objects = compile_objects(sources, folder, compiler)
    link_objects(objects, [], program, compiler, [*target.flags, "-T", "link.ld", "-Wl,--gc-sections"])
    return program


def _headers(texts: Mapping[str, str], target: Target) -> dict[str, str]:
    """Those of kernels that the files include, and what these include: side by side, so that one of the target's own
    stands for the portable one of its name."""
    found: dict[str, str] = {}
    waiting = [name for text in texts.values() for name in included(text)]
    while waiting:
        place = f"kernels/{Path(waiting.pop()).name}"
        if place not in found and place not in texts and target.kernel_file(Path(place).name).is_file():
            found[place] = target.kernel_text(Path(place).name)
            waiting += included(found[place])
    return found


def _surroundings(target: Target) -> dict[str, str]:
    """The runtime, and what boots a measurement."""
    boot = {name: target.bench_file(name) for name in ("boot.S", "link.ld", "bench.h")}
    texts = {name: path.read_text() for name, path in boot.items()}
    runtime = cluster_program.files(target) if target.agents.has_runtime else board_program.runtime_files(target)
    stacks = f"tw_bench_stacks = {stack_bytes(target)};\ntw_bench_variables = {VARIABLES};\n"
    own = {path.name: path.read_text() for path in (CALLS, CORES, ANY_CORES)}
    return texts | runtime | own | {"stacks.ld": stacks, f"kernels/{PREFIX_FILE}": ""}


def _runtime_sources(target: Target, offloads: bool) -> list[str]:
    names = sorted(name for name in target.runtime_files() if name.startswith("libc/") and name.endswith(".c"))
    return [f"runtime/{name}" for name in (*names, *(OFFLOADING if offloads else ()))]


def _has_runtime_jobs(calls: Sequence[BenchCall], target: Target) -> bool:
    """Whether a runtime waits for accelerators; on a board their drivers do."""
    return target.agents.runtime_waits and any(call.instance.kernel.offloaded for call in calls)


def _main(calls: Sequence[BenchCall], target: Target) -> str:
    instances = list({call.instance.function: call.instance for call in calls}.values())
    headers = sorted({instance.kernel.params_header for instance in instances})
    together = "cluster.h" if target.agents.has_runtime else "platform.h"
    lines = ["#include <math.h>", *(f'#include "{name}"' for name in (together, "bench.h", "bytes.h", *headers))]
    lines += [instance.prototype() for instance in instances]
    for i, call in enumerate(calls):
        lines += _functions(i, call)
    table = ", ".join(_entry(i, call) for i, call in enumerate(calls))
    lines += [
        "typedef struct {",
        "  void *place;",
        "  const void *params;",
        "  uint32_t bytes;",
        "  void (*call)(void), (*gather)(void), (*finish)(void);",
        "  int cooperative;",
        "} entry;",
        f"static const entry entries[] = {{{table}}};",
        f"#define TW_BENCH_ON_CLUSTER {int(target.agents.cores > 1)}",
        f"#define TW_BENCH_OFFLOADS {int(_has_runtime_jobs(calls, target))}",
        f'#include "{CALLS.name}"',
        "",
    ]
    return "\n".join(lines)


def _entry(index: int, call: BenchCall) -> str:
    kernel = call.instance.kernel
    others = [
        f"{name}_{index}" if has else "0"
        for name, has in (("gather", kernel.has_prologue), ("finish", kernel.has_epilogue))
    ]
    words = [call.params_pointer, f"&params_{index}", f"sizeof params_{index}", f"run_{index}", *others]
    return f"{{{', '.join([*words, str(int(kernel.cooperative))])}}}"


def _functions(index: int, call: BenchCall) -> Iterator[str]:
    """What calls a kernel, with its parameters and addresses."""
    instance, kernel = call.instance, call.instance.kernel
    tables, fields = initialiser(call.params, f"case_{index}_")
    yield f"{tables}\nstatic const {kernel.params_type} params_{index} = {{{fields}}};"
    arguments = [call.params_pointer, *(_pointer(call, argument) for argument in kernel.arguments())]
    if instance.takes_scratch:
        arguments.append(f"(void *){call.places['scratch']:#x}")
    for name, function in instance.functions.items():
        yield f"static void {name}_{index}(void) {{ {function}({', '.join(arguments)}); }}"


def _pointer(call: BenchCall, argument: Argument) -> str:
    c_type = call.instance.c_type(argument)
    if not argument.variadic:
        return f"({c_type} *){call.places.get(argument.stem, 0):#x}"
    names = [name for name in call.tensors if name.startswith(argument.stem)]
    pointers = ", ".join(f"({c_type} *){call.places[name]:#x}" for name in names)
    return f"(const {c_type} *const[]){{{pointers}}}"
