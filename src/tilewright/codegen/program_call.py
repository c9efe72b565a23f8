"""What a program that runs a network once on a virtual SoC needs to know of it: its inputs, outputs and call."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate

from tilewright.codegen.arena_parts import arenas_of
from tilewright.codegen.network import Writer
from tilewright.records import dataclass
from tilewright.target.memory import Memory

PROGRAM = "runtime/program.c"
"""Calls a network once."""
FILE = "runtime/program_call.h"
ARENA = "program_arena"
CONSTANT_INPUTS, CHANGING_INPUTS = ".rodata.inputs", '.inputs,"aw",%progbits'
"""Sections of inputs: among the constants, or in the memory that a sensor would write them to."""


def placed_in(memory: Memory) -> str:
    return f'__attribute__((section("{memory.section}"), aligned({memory.alignment})))'


def call_header(
    writer: Writer, memory: Memory, prepare: str, *, headers: str = "", buffers: str = "", more: Sequence[str] = ()
) -> str:
    """program_call.h. Outputs lie in a memory; `prepare` is done once, before the first call; `more` are arguments
    after inputs and outputs, and `buffers` what they name."""
    graph, names = writer.schedule.graph, writer.identifiers
    outputs = list(dict.fromkeys(graph.outputs))
    inputs = "\n".join(f"extern const uint8_t program_input_{i}[];" for i in range(len(graph.inputs)))
    made = "\n".join(
        f"uint8_t program_output_{i}[{max(graph.types[name].bytes, 1)}] {placed_in(memory)};"
        for i, name in enumerate(outputs)
    )
    arguments = [
        f"(const {writer.c_type_of(name)} *)program_input_{i} /* {names[name]} */"
        for i, name in enumerate(graph.inputs)
    ]
    arguments += [
        f"({writer.c_type_of(name)} *)program_output_{i} /* {names[name]} */" for i, name in enumerate(outputs)
    ]
    pointers = ", ".join(f"program_output_{i}" for i in range(len(outputs)))
    sizes = ", ".join(f"{graph.types[name].bytes}u" for name in outputs)
    return f"""\
/* The network's inputs and outputs. */
#include "../network.h"
{headers}
#define PROGRAM_OUTPUTS {len(outputs)}

{inputs}
{made}
{buffers}
static uint8_t *const program_outputs[] = {{{pointers}}};
static const uint32_t program_output_bytes[] = {{{sizes}}};
static void program_prepare(void) {{{prepare}}}

static int program_run(void) {{ return {writer.name}_run({", ".join([*arguments, *more])}); }}
"""


def inputs_source(
    data: Sequence[bytes], alignment: int, section: str = CONSTANT_INPUTS, arena: InputArena | None = None
) -> str:
    """inputs.S: the bytes of inputs.bin, each input under its own name. The hash tells objects in caches apart."""
    lines, starts = [f"# {hashlib.sha256(b''.join(data)).hexdigest()}", f"    .section {section}"], [0]
    starts += accumulate(map(len, data))
    inside = arena.offsets if arena is not None else {}
    for number, size in enumerate(map(len, data)):
        if number not in inside:
            lines += [f"    .balign {alignment}", *_input(number, starts[number], size)]
    if arena is None:
        return "\n".join(lines) + "\n"
    lines += [f"    .balign {arena.alignment}", f"    .globl {ARENA}", f"{ARENA}:"]
    at = 0
    for number, offset in sorted(inside.items(), key=lambda one: one[1]):
        lines += [f"    .space {offset - at}", *_input(number, starts[number], len(data[number]))]
        at = offset + len(data[number])
    return "\n".join([*lines, f"    .space {arena.bytes - at}"]) + "\n"


def _input(number: int, at: int, size: int) -> list[str]:
    content = f'    .incbin "inputs.bin", {at}, {size}' if size else "    .byte 0"
    return [f"    .globl program_input_{number}", f"program_input_{number}:", content]


@dataclass(frozen=True)
class InputArena:
    """An arena with inputs in it, as a program has it."""

    bytes: int
    alignment: int
    offsets: Mapping[int, int]
    """By the numbers of the inputs. They do not overlap: all are there when a call begins."""


def input_arena(writer: Writer) -> InputArena | None:
    """Where a program's inputs lie in the arena; None where they do not."""
    schedule = writer.schedule
    if not schedule.inputs:
        return None
    offsets = {at: schedule.inputs[name] for at, name in enumerate(schedule.graph.inputs) if name in schedule.inputs}
    return InputArena(arenas_of(schedule)["arena"], schedule.target.memories[0].alignment, offsets)
