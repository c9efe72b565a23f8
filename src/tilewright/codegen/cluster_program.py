"""What makes the folder of a network for a cluster complete: the runtime, the program around it, a CMakeLists.txt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.codegen import limits, memory_regions
from tilewright.codegen.cluster import ClusterWriter
from tilewright.codegen.cluster_cmake import cmake_of
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.kernels import included
from tilewright.codegen.program_call import PROGRAM, call_header, placed_in
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


def program_call(writer: ClusterWriter) -> str:
    """program_call.h: the network's buffers, for the program that runs it once."""
    filled = f"""
  static uint8_t staging[2048] {placed_in(writer.memories.l2)};
  tw_l3_open();
  tw_l3_fill(tw_l3_image, (uint32_t)(tw_l3_image_end - tw_l3_image), staging, sizeof staging);
"""
    in_l3 = writer.arena_bytes(writer.memories.l3)
    l3 = '#include "l3.h"\n' if writer.stored or in_l3 else ""
    prepare = filled if writer.stored else "\n  tw_l3_open();\n" if in_l3 else ""
    prepare += f"\n  {writer.name}_reset();\n" if writer.schedule.graph.states else ""
    return call_header(writer, writer.memories.l2, prepare, headers=l3)


def cmake(writer: ClusterWriter, names: Collection[str]) -> str:
    return cmake_of(writer.name, f"{writer.name}_network", symbols([writer]), [writer], names, (PROGRAM,))
