"""What a network has besides where some of its kernels run on a GPU: the runtime, and the code of these kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

from tilewright.codegen.kernels import PREFIX_FILE, Instance, headers
from tilewright.codegen.texts import Text
from tilewright.errors import instance, present
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.runner import BY_OPENCL, ON_HOST, GpuProcess
from tilewright.toolchain.opencl_c.text import Kernel, opencl_c
from tilewright.toolchain.ptx import ptx

HEADER = "gpu_runtime.h"
SOURCES = (
    "gpu_calls.h", "gpu_networks.h", "gpu_cuda.c", "gpu_cuda_caller.h", "gpu_cuda_open.h", "gpu_cuda_load.h",
    "gpu_cuda_constants.h", "gpu_cuda_state.h", "gpu_cuda_driver.h", "gpu_opencl.c", "gpu_opencl_open.h",
    "gpu_opencl_driver.h", "gpu_on_host.c",
)  # fmt: skip
"""Of the runtime: but for those of the one that is asked for, they are empty."""
FUNCTIONS = (
    "tw_gpu_begin", "tw_gpu_end", "tw_gpu_failure", "tw_gpu_upload", "tw_gpu_download", "tw_gpu_launch",
    "tw_gpu_measured", "tw_gpu_seen", "tw_gpu_keep", "tw_gpu_forget", "tw_gpu_input", "tw_gpu_output",
    "tw_gpu_allocate", "tw_gpu_release", "tw_gpu_after", "tw_gpu_copy", "tw_gpu_taken",
    "tw_gpu_ask", "tw_gpu_start", "tw_gpu_has_failed", "tw_gpu_fetch",
)  # fmt: skip
KERNEL = "gpu.h"
"""What sources of kernels of a GPU include, or a header that makes kernels of what they define."""
ENTRY = "tw_kernel"
"""What sources call a kernel; its PTX has the name of the instance, which tools that watch a GPU show."""
ITEMS = re.compile(r"^.*\btw_items_of_group = (\d+);\n", re.MULTILINE)
"""Where the PTX of a kernel has its TW_GROUP_SIZE."""
AT_ONCE = re.compile(r"^.*\btw_groups_at_once(?: = (\d+))?;\n", re.MULTILINE)
"""The same of its TW_GROUPS_AT_ONCE."""
SHARED_NAMES = re.compile(r"^\.(?:extern |visible |weak )*(?:global|shared|const) .*?(\w+)(?:\[|;| =)", re.MULTILINE)
"""Variables outside of its entry."""
CODE, OPENCL_CODE = "_code.c", "_opencl.c"
"""How files end that have the code of such a kernel, as PTX and as OpenCL C."""


@dataclass(frozen=True)
class Form:
    """Of code, and where it is what is launched."""

    name: str
    condition: str


PTX = Form("PTX", "!defined(TW_GPU_BY_OPENCL)")
OPENCL_C = Form("OpenCL C", "defined(TW_GPU_BY_OPENCL)")


def functions(schedule: Schedule) -> Sequence[str]:
    return FUNCTIONS if isinstance(schedule.target.runner, GpuProcess) else ()


def files(schedule: Schedule, used: Sequence[Instance], texts: Mapping[str, Text]) -> dict[str, Text]:
    """The runtime and the code of kernels, beside the kernels; nothing where no GPU is part of the machine."""
    target = schedule.target
    if not isinstance(target.runner, GpuProcess):
        return {}
    runtime = {name: target.runtime_file(name).read_text(encoding="utf-8") for name in SOURCES}
    found: dict[str, Text] = {f"kernels/{name}": text for name, text in runtime.items()}
    found[f"kernels/{HEADER}"] = target.kernel_text(HEADER)
    kernels = gpu_kernels(schedule, used)
    codes = _Codes(schedule, kernels, texts)
    found |= {f"kernels/{kernel.stem}{CODE}": partial(codes.text, kernel) for kernel in kernels}
    return found | {f"kernels/{kernel.stem}{OPENCL_CODE}": partial(codes.opencl_text, kernel) for kernel in kernels}


def gpu_kernels(schedule: Schedule, used: Sequence[Instance]) -> list[Instance]:
    """Those with code for a GPU; operators may share one."""
    read = schedule.target.kernel_text
    return list({one.file: one for one in used if KERNEL in headers([one], read)}.values())


def unread(definitions: Sequence[str]) -> tuple[str, ...]:
    """How files end that are not needed with what the C is told."""
    if ON_HOST in definitions:
        return (CODE, OPENCL_CODE)
    return (CODE,) if BY_OPENCL in definitions else (OPENCL_CODE,)


def opencl_texts(files: Mapping[str, str]) -> dict[str, str]:
    """Kernels of a network in OpenCL C, by their names."""
    named = (name.removeprefix("kernels/") for name in files if name.startswith("kernels/"))
    kernels = [name for name in named if name.endswith(OPENCL_CODE) and name not in SOURCES]
    return {name.removesuffix(OPENCL_CODE): text_of_lines(files[f"kernels/{name}"]) for name in kernels}


def text_of_lines(code: str) -> str:
    """What the lines in a file of code say."""
    lines = re.findall(r'^    "(.*)\\n",$', code, re.MULTILINE)
    return "".join(line.replace('\\"', '"').replace("\\\\", "\\") + "\n" for line in lines)


class _Codes:
    """Of all kernels of a network, which are compiled together when one of them is read."""

    def __init__(self, schedule: Schedule, kernels: Sequence[Instance], texts: Mapping[str, Text]) -> None:
        self.schedule, self.kernels, self.texts = schedule, list(kernels), texts

    def text(self, kernel: Instance) -> str:
        return _as_c(kernel, PTX, self._ptx[self.kernels.index(kernel)], 0)

    def opencl_text(self, kernel: Instance) -> str:
        made = self.opencl[self.kernels.index(kernel)]
        return _as_c(kernel, OPENCL_C, made.text, made.own_bytes)

    @cached_property
    def _sources(self) -> dict[str, str]:
        known = {
            name.removeprefix("kernels/"): text for name, text in self.texts.items() if name.startswith("kernels/")
        }
        return {name: text for name, text in known.items() if isinstance(text, str)} | {PREFIX_FILE: ""}

    @property
    def _names(self) -> list[str]:
        return [kernel.file for kernel in self.kernels]

    @cached_property
    def _ptx(self) -> list[str]:
        runner = instance(self.schedule.target.runner, GpuProcess)
        made = ptx(self._names, self._sources, self.schedule.target.folder / "device", runner.capability)
        return [_named(_bounded(code), kernel.stem) for code, kernel in zip(made, self.kernels, strict=True)]

    @cached_property
    def opencl(self) -> list[Kernel]:
        return opencl_c(self._names, self._sources, self.schedule.target.folder / "opencl")


def _bounded(code: str) -> str:
    """With the most items of a group and the groups at once, which the code says: without them a compiler has to save
    registers for more."""
    items = present(ITEMS.search(code), KERNEL, "does not say how many items a group has")
    groups = present(AT_ONCE.search(code), KERNEL, "does not say how many groups run at once")
    entry, told = rf"(\.entry {ENTRY}\([^)]*\))", f"\n.maxntid {items[1]}, 1, 1"
    if groups[1] not in (None, "0"):
        told += f"\n.minnctapersm {groups[1]}"
    return re.sub(entry, rf"\1{told}", code.replace(items[0], "").replace(groups[0], ""), count=1)


def _named(code: str, stem: str) -> str:
    """With names of its own, so that a driver can read the code of several kernels as one text."""
    for name in SHARED_NAMES.findall(code):
        code = re.sub(rf"\b{name}\b", f"{name}_{stem}", code)
    return code.replace(ENTRY, stem)


def _as_c(kernel: Instance, form: Form, code: str, own_bytes: int) -> str:
    """Code as lines of C: texts are short, as compilers have limits for long ones."""
    lines = "\n".join(f'    "{line}\\n",' for line in _escaped(code.splitlines()))
    return f"""\
/* The code of kernel {kernel.stem} for GPUs, which their driver compiles: {form.name}, made from {kernel.file}. */
#include "{PREFIX_FILE}"

#include "{HEADER}"

#if {form.condition}

static const char *const lines[] = {{
{lines}
}};

extern tw_gpu_code TW_GPU_CODE_OF({kernel.function});
tw_gpu_code TW_GPU_CODE_OF({kernel.function}) = {{
    lines, sizeof lines / sizeof *lines, "{kernel.stem}", {own_bytes}, 0, 0, 0}};

#else

/* C knows no empty file. */
typedef int tw_gpu_other_code;

#endif
"""


def _escaped(lines: Iterable[str]) -> Iterable[str]:
    told = (line.split("//")[0].rstrip() for line in lines)
    return (line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", " ") for line in told if line)
