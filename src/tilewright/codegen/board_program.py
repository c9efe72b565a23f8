"""What makes the folder of a network for a board complete: start-up, linker script, the program around it, CMake."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.codegen import external_kernels, memory_regions
from tilewright.codegen.arena_parts import arenas_of
from tilewright.codegen.cmake_symbols import refuse_shared, symbols
from tilewright.codegen.example import MARKER, depends, languages
from tilewright.codegen.network import Writer
from tilewright.codegen.program_call import ARENA, FILE, call_header, placed_in
from tilewright.target.target import Target
from tilewright.version import VERSION

PLATFORM_HEADER = "platform.h"
"""Where the devices are; the runtime includes it from among the kernels' headers."""


def files(writer: Writer) -> dict[str, str]:
    """The runtime as it is in the target's folders, where the memories are, and the network's buffers."""
    return runtime_files(writer.schedule.target) | {FILE: program_call(writer)}


def runtime_files(target: Target) -> dict[str, str]:
    texts = {f"runtime/{name}": text for name, text in target.runtime_texts.items()}
    texts[f"kernels/{PLATFORM_HEADER}"] = target.kernel_text(PLATFORM_HEADER)
    return texts | {memory_regions.FILE: memory_regions.memory_regions(target)}


def program_call(writer: Writer) -> str:
    """program_call.h, with the arena, which is the caller's."""
    ram, has_states = writer.schedule.target.memories[0], bool(writer.schedule.graph.states)
    reset = f" tw_status = {writer.name}_reset(program_arena); " if has_states else ""
    memories = {memory.name: memory for memory in writer.schedule.target.memories}
    placed = {
        arena: memories[name] for arena, name in zip(arenas_of(writer.schedule), writer.schedule.arenas, strict=True)
    }
    lines = [
        f"static uint8_t program_{arena}[{writer.macro}_{arena.upper()}_BYTES] {placed_in(memory)};\n"
        for arena, memory in placed.items()
    ]
    if writer.schedule.inputs:
        # It comes with the inputs that lie in it.
        lines = [f"extern uint8_t {ARENA}[];\n"]
    buffers = "".join(lines) + ("extern int tw_status;\n" if has_states else "")
    return call_header(writer, ram, reset, buffers=buffers, more=[f"program_{arena}" for arena in placed])


def cmake(writer: Writer, names: Collection[str]) -> str:
    """The network as a library for a firmware, whose start-up and C library are its own."""
    more = external_kernels.cmake_lines(writer.schedule.target, writer.kernels, names)
    library = f"{writer.name}_network"
    return cmake_of(writer.name, library, writer.schedule.target, symbols([writer]), names, more)


def cmake_of(
    name: str, library: str, target: Target, own_symbols: Sequence[str], names: Collection[str], more: str = ""
) -> str:
    """Of a library with one network, or with several; `more` are further lines."""
    own = [name for name in sorted(names) if name.endswith((".c", ".S")) and not name.startswith("runtime/")]
    sources = "\n".join(f"  {name}" for name in own)
    return f"""\
{MARKER} {VERSION}.
# In a firmware: add_subdirectory(this folder), target_link_libraries(firmware {library}). Your toolchain file
# selects the core; the plan assumes {target.agents.isa} and -O2.
# A firmware does not need runtime/: start-up code, linker script and C library functions for `tilewright run`.
cmake_minimum_required(VERSION 3.13)
project({name} {languages(names)})

{refuse_shared(name, own_symbols)}
add_library({library} STATIC
{sources}
)
{depends(names)}{more}target_include_directories({library} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({library} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
target_compile_options({library} PRIVATE -O2)
"""
