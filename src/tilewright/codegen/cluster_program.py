"""What makes the folder of a network for a cluster complete: the runtime, the program around it, a CMakeLists.txt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.codegen import limits, memory_regions
from tilewright.codegen.cluster import ClusterWriter
from tilewright.codegen.example import BINARY, MARKER, depends, languages
from tilewright.codegen.kernels import included
from tilewright.codegen.program_call import PROGRAM, call_header, placed_in
from tilewright.target.target import Target
from tilewright.version import VERSION

ALWAYS = ("cluster.h", "tw.h")
"""Headers of the kernels that generated code includes itself."""


def files(target: Target) -> dict[str, str]:
    """The runtime as it is in the target's folders, and the headers that it shares with the kernels."""
    texts = {f"runtime/{name}": path.read_text() for name, path in target.runtime_files().items()}
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
        texts[name] = target.kernel_file(name).read_text()
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
    return cmake_of(writer.name, f"{writer.name}_network", [writer], names, (PROGRAM,))


def cmake_of(
    name: str, library: str, writers: Sequence[ClusterWriter], names: Collection[str], program: Sequence[str],
    stack: int = 0,
) -> str:  # fmt: skip
    """Of a library with one network, or with several that share runtime and stacks.

    `program` shows how it is called and is no part of it; `stack` is what others need of a core's stack at least."""
    sources = [name for name in sorted(names) if name.endswith(".c") and name not in program]
    sources += [BINARY] if BINARY in names else []
    own = "\n".join(f"  {name}" for name in sources if not name.startswith("runtime/"))
    shared = "\n".join(f"  {name}" for name in sources if name.startswith("runtime/"))
    target, tiles, l1 = writers[0].schedule.target, [writer.tiles for writer in writers], writers[0].memories.l1
    cores = max(one.cores for one in tiles)
    runtime = f"tilewright_runtime_{target.name}"
    each, moving = max(stack, *(one.stacks.each for one in tiles)), max(one.stacks.dma_core for one in tiles)
    stacks = f"STACK_BYTES={each} DMA_CORE_STACK_BYTES={moving}"
    return f"""\
{MARKER} {VERSION}.
# In a firmware: add_subdirectory(this folder), target_link_libraries(firmware {library}).
# runtime/link.ld and runtime/crt0.S show how memories and stacks are laid out; {program} how it is called.
#
# Several networks in one firmware: give each a --name and add each folder. They share the runtime of the folder that
# is added first, which has to be of the same version. They do not run at the same time, and share {l1.name}: of their
# arrays tw_{l1.symbol} the linker keeps the largest. Each has its own number of cores (--cores). crt0.S needs the
# largest of what they need, which the runtime's target keeps as properties:
#   foreach(name CORES STACK_BYTES DMA_CORE_STACK_BYTES)
#     target_compile_definitions(firmware PRIVATE TW_${{name}}=$<TARGET_PROPERTY:{runtime},TILEWRIGHT_${{name}}>)
#   endforeach()
cmake_minimum_required(VERSION 3.13)
project({name} {languages(names)})

if(NOT TARGET {runtime})
  add_library({runtime} STATIC
{_indented(shared)}
  )
  set_target_properties({runtime} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_compile_options({runtime} PRIVATE -O2)
  set_target_properties({runtime} PROPERTIES TILEWRIGHT_RUNTIME "{VERSION}")
endif()
get_target_property({name}_found {runtime} TILEWRIGHT_RUNTIME)
if(NOT {name}_found STREQUAL "{VERSION}")
  message(FATAL_ERROR "{name} needs runtime {VERSION}, another network brought "
    "${{{name}_found}}: compile both with one version of Tilewright")
endif()
# What the networks of a firmware need at the most.
foreach(need CORES={cores} {stacks})
  string(REPLACE "=" ";" need ${{need}})
  list(GET need 0 property)
  list(GET need 1 value)
  get_target_property(found {runtime} TILEWRIGHT_${{property}})
  if(NOT found OR found LESS value)
    set_target_properties({runtime} PROPERTIES TILEWRIGHT_${{property}} ${{value}})
  endif()
endforeach()

add_library({library} STATIC
{own}
)
{depends(names)}target_include_directories({library} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({library} PUBLIC {runtime})
target_compile_definitions({library} PRIVATE TW_CORES={cores})
set_target_properties({library} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
# Instructions are made from constants that functions hand on: without inlining kernels do not compile.
target_compile_options({library} PRIVATE -O2)
"""


def _indented(lines: str) -> str:
    return lines.replace("  ", "    ")
