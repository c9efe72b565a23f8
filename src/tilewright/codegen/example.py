"""What makes the folder usable at once: a main.c that calls the network and a CMakeLists.txt."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.codegen.kernels import Instance
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.network import Writer


def main(writer: Writer) -> str:
    graph, names, macro = writer.schedule.graph, writer.identifiers, writer.macro
    outputs = list(dict.fromkeys(graph.outputs))
    buffers = "\n".join(
        f"static {C_TYPES[graph.types[name].dtype]} {names[name]}[{macro}_{names[name].upper()}_ELEMENTS + 1];"
        for name in [*graph.inputs, *outputs]
    )
    arguments = ", ".join([*(names[name] for name in [*graph.inputs, *outputs]), "arena"])
    first = names[outputs[0]]
    shown = f'printf("%g\\n", (double){first}[i]);'
    return f"""\
/* How to call the network: buffers, one run, the first outputs. Inputs are zero here; put your data there. */
#include <stdio.h>

#include "network.h"

{buffers}

/* A union aligns the arena in C99. */
static union {{
  unsigned char bytes[{macro}_ARENA_BYTES + {macro}_ARENA_ALIGNMENT];
  double align;
}} memory;

int main(void) {{
  unsigned char *arena = memory.bytes;
  while ((uintptr_t)arena % {macro}_ARENA_ALIGNMENT != 0) arena++;
  if ({writer.name}_run({arguments}) != 0) return 1;
  for (int i = 0; i < {macro}_{first.upper()}_ELEMENTS && i < 10; i++) {shown}
  return 0;
}}
"""


def cmake(writer: Writer, used: Sequence[Instance]) -> str:
    kernels = "\n".join(f"  kernels/{file}" for file in sorted(instance.file for instance in used))
    return f"""\
cmake_minimum_required(VERSION 3.13)
project({writer.name} C)

# The network as a library: link it into your firmware.
add_library({writer.name}
  network.c
  network_data.c
{kernels}
)
target_include_directories({writer.name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({writer.name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
target_link_libraries({writer.name} PUBLIC m)

add_executable({writer.name}_example main.c)
target_link_libraries({writer.name}_example PRIVATE {writer.name})
"""
