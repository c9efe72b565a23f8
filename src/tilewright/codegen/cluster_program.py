"""What makes the folder of a network for a cluster complete: the runtime, the program around it, a CMakeLists.txt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.codegen import limits, memory_regions
from tilewright.codegen.cluster_cmake import cmake_of
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.kernels import included
from tilewright.codegen.network import Writer
from tilewright.codegen.program_call import PROGRAM, call_header, placed_in
from tilewright.target.memory import Memory
from tilewright.target.target import Target

ALWAYS = ("cluster.h", "tw.h")
"""Headers of the kernels that generated code includes itself."""


def files(target: Target) -> dict[str, str]:
    """The runtime as it is in the target's folders, and the headers that it shares with the kernels."""
    texts = {f"runtime/{name}": text for name, text in target.runtime_texts.items()}
    shared = [name for text in texts.values() for name in included(text) if name.startswith(KERNELS)]
    texts[limits.FILE] = limits.limits_header(target)
    texts[memory_regions.FILE] = memory_regions.memory_regions(target)
    return texts | {f"kernels/{name}": text for name, text in _headers(target, shared).items()}


KERNELS = "../kernels/"
"""Where the runtime finds headers of the kernels."""


def _headers(target: Target, shared: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    waiting = [*ALWAYS, *(name.removeprefix(KERNELS) for name in shared)]
    while waiting:
        name = waiting.pop()
        texts[name] = target.kernel_text(name)
        waiting += [other for other in included(texts[name]) if other not in texts]
    return texts


def program_call(writer: Writer) -> str:
    """program_call.h: the network's buffers, for the program that runs it once."""
    filled = [memory for memory in writer.opened if writer.stored(memory)]
    headers = "".join(f'#include "{memory.symbol}.h"\n' for memory in writer.opened)
    prepare = f"\n  static uint8_t staging[2048] {placed_in(writer.memories.home)};" if filled else ""
    lines = [line for memory in writer.opened for line in opening(memory, memory in filled)]
    prepare += "".join(f"\n  {line}" for line in lines) + ("\n" if lines else "")
    prepare += f"\n  {writer.name}_reset();\n" if writer.schedule.graph.states else ""
    return call_header(writer, writer.memories.home, prepare, headers=headers)


def opening(memory: Memory, fills: bool) -> list[str]:
    """What a program does first with a memory behind the home; it has an array `staging` where it fills some."""
    name = memory.symbol
    image = f"tw_{name}_image, (uint32_t)(tw_{name}_image_end - tw_{name}_image)"
    return [f"tw_{name}_open();", *([f"tw_{name}_fill({image}, staging, sizeof staging);"] if fills else [])]


def cmake(writer: Writer, names: Collection[str]) -> str:
    return cmake_of(writer.name, f"{writer.name}_network", symbols([writer]), [writer], names, (PROGRAM,))
