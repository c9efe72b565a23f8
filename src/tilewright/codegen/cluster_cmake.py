"""CMakeLists.txt of networks for a cluster: a library of each, and the runtime that those of a firmware share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.codegen.cmake_symbols import refuse_shared
from tilewright.codegen.example import BINARY, MARKER, depends, languages
from tilewright.codegen.network import Writer
from tilewright.version import VERSION


def cmake_of(
    name: str, library: str, own_symbols: Sequence[str], writers: Sequence[Writer], names: Collection[str],
    program: Sequence[str], stack: int = 0,
) -> str:  # fmt: skip
    """Of a library with one network, or with several that share runtime and stacks.

    `program` shows how it is called and is no part of it; `stack` is what others need of a core's stack at least."""
    sources = [name for name in sorted(names) if name.endswith(".c") and name not in program]
    sources += [BINARY] if BINARY in names else []
    own = [name for name in sources if not name.startswith("runtime/")]
    shared = [name for name in sources if name.startswith("runtime/")]
    runtime, cores = f"tilewright_runtime_{writers[0].schedule.target.name}", max(one.schedule.cores for one in writers)
    return (
        f"{MARKER} {VERSION}.\n"
        + _remarks(library, runtime, writers[0], program)
        + f"cmake_minimum_required(VERSION 3.13)\nproject({name} {languages(names)})\n\n"
        + refuse_shared(name, own_symbols)
        + _runtime(name, runtime, shared)
        + _needs(runtime, [f"CORES={cores}", *_stacks(writers, stack)])
        + _library(library, runtime, own, depends(names), cores)
    )


def _remarks(library: str, runtime: str, writer: Writer, program: Sequence[str]) -> str:
    near, calls = writer.memories.tiles, " and ".join(program)
    return f"""\
# In a firmware: add_subdirectory(this folder), target_link_libraries(firmware {library}).
# runtime/link.ld and runtime/crt0.S show the layout of memories and stacks; {calls} calls the network.
#
# Several networks in one firmware: give each a --name and add each folder. They share the runtime of the folder that
# is added first, so compile all of them with the same version. Run one at a time: they share {near.name}, where the
# linker keeps the largest of their arrays tw_{near.symbol}. Each has its own number of cores (--cores). Compile crt0.S
# for the largest number of cores and stacks; the runtime's CMake target has them as properties:
#   foreach(name CORES STACK_BYTES DMA_CORE_STACK_BYTES)
#     target_compile_definitions(firmware PRIVATE TW_${{name}}=$<TARGET_PROPERTY:{runtime},TILEWRIGHT_${{name}}>)
#   endforeach()
"""


def _runtime(name: str, runtime: str, sources: Sequence[str]) -> str:
    """The library of the runtime, if no network has brought it yet."""
    return f"""\
if(NOT TARGET {runtime})
  add_library({runtime} STATIC
{_lines(sources, "    ")}
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
"""


def _stacks(writers: Sequence[Writer], stack: int) -> list[str]:
    stacks = [writer.schedule.stacks for writer in writers]
    each, moving = max(stack, *(one.each for one in stacks)), max(one.dma_core for one in stacks)
    return [f"STACK_BYTES={each}", f"DMA_CORE_STACK_BYTES={moving}"]


def _needs(runtime: str, needs: Sequence[str]) -> str:
    return f"""\
# What the networks of a firmware need at the most.
foreach(need {" ".join(needs)})
  string(REPLACE "=" ";" need ${{need}})
  list(GET need 0 property)
  list(GET need 1 value)
  get_target_property(found {runtime} TILEWRIGHT_${{property}})
  if(NOT found OR found LESS value)
    set_target_properties({runtime} PROPERTIES TILEWRIGHT_${{property}} ${{value}})
  endif()
endforeach()

"""


def _library(library: str, runtime: str, sources: Sequence[str], dependencies: str, cores: int) -> str:
    return f"""\
add_library({library} STATIC
{_lines(sources, "  ")}
)
{dependencies}target_include_directories({library} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({library} PUBLIC {runtime})
target_compile_definitions({library} PRIVATE TW_CORES={cores})
set_target_properties({library} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
# Instructions are made from constants that functions hand on: without inlining kernels do not compile.
target_compile_options({library} PRIVATE -O2)
"""


def _lines(names: Sequence[str], indentation: str) -> str:
    return "\n".join(f"{indentation}{name}" for name in names)
