"""The folder of a network that learns: its three networks, what joins them, and the program that shows how."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

from tilewright.codegen import board_program, c_data, cluster_cmake, cluster_program, cross_files, example, folder
from tilewright.codegen.cluster_program import opening
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.kernels import PREFIX_FILE, headers, prefixes, prototypes
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer, runtime_functions
from tilewright.codegen.program_call import PROGRAM, placed_in
from tilewright.codegen.text_of import text_of
from tilewright.codegen.texts import Text, Texts
from tilewright.target.runner import VirtualSoc
from tilewright.training.compiling import Learner
from tilewright.training.graphs import FIRST
from tilewright.training.labels import classes_of

FOLDER = Path(__file__).parent / "c"
SOURCE, ERRORS, CALLS = "learner.c", "learner.h", "calls.h"
CHIP_PROGRAM, PREPARE = "chip_program.c", "runtime/program_prepare.h"
HEADER_BYTES = 32


class LearnerC:
    """A learner as C."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.name, self.macro = learner, learner.name, learner.name.upper()
        self.writers = learner.writers
        self.train = learner.writers["train"]
        self.infer = learner.writers.get("infer")

    @property
    def is_on_chip(self) -> bool:
        """Whether it runs in a program of ours, not in a process."""
        return isinstance(self.learner.target.runner, VirtualSoc)

    def texts(self) -> Texts:
        """Relative path -> text of every file of the folder."""
        found: dict[str, Text] = {}
        for which, writer in self.writers.items():
            text = text_of(writer)
            found |= {f"{which}/network.h": text.header(), f"{which}/network.c": text.source()}
            found |= {f"{which}/network_data.h": c_data.header(writer)}
            found |= {f"{which}/network_data.c": partial(c_data.source, writer)}
        found |= self._kernel_texts()
        found |= {name: (FOLDER / name).read_text() for name in (SOURCE, ERRORS)}
        found |= {f"{self.name}.h": self.header(), CALLS: self.calls()}
        return Texts(found | self._around(found))

    def _kernel_texts(self) -> dict[str, Text]:
        used, target = self.learner.kernels, self.learner.target
        texts: dict[str, Text] = {
            "kernels/kernels.h": prototypes(used),
            f"kernels/{PREFIX_FILE}": prefixes(used, self.name, runtime_functions(self.train.schedule)),
        }
        texts |= {f"kernels/{one.file}": one.text(target.kernel_text) for one in used}
        return texts | {f"kernels/{name}": text for name, text in headers(used, target.kernel_text).items()}

    def _around(self, texts: Mapping[str, Text]) -> dict[str, str]:
        """What makes the folder a program."""
        target, writers = self.learner.target, list(self.writers.values())
        if not self.is_on_chip:
            more = {"main.c": self._main(), **cross_files.files(target)}
            math = any(folder.needs_math(writer, texts) for writer in writers)
            flags, library = example.computer_flags(target), f"{self.name}_network"
            own = symbols(writers, [self.header()])
            return more | {"CMakeLists.txt": example.cmake_of(self.name, library, own, texts, math, flags=flags)}
        program = {PROGRAM: (FOLDER / CHIP_PROGRAM).read_text(), PREPARE: self.prepare_header()}
        if not self.learner.has_runtime:
            more = {**board_program.runtime_files(target), **program}
            return more | {"CMakeLists.txt": self._board_cmake([*texts, *more])}
        more = {**cluster_program.files(target), **program}
        own, names = symbols(writers, [self.header()]), [*texts, *more]
        cmake = cluster_cmake.cmake_of(self.name, f"{self.name}_network", own, writers, names, (PROGRAM,))
        return more | {"CMakeLists.txt": cmake}

    def _board_cmake(self, names: list[str]) -> str:
        library, own = f"{self.name}_network", symbols(list(self.writers.values()), [self.header()])
        return board_program.cmake_of(self.name, library, self.learner.target, own, names)

    @cached_property
    def number(self) -> int:
        """Tells this network from others, and from other versions of it: the layout of what is saved, and what train
        and infer compute with it."""
        lines = [f"{name} {self.learner.states[name].initial.dtype} {self._bytes(name)}" for name in self.saved]
        for graph in self.learner.training.graphs.values():
            lines.append(str(graph))
            lines += [hashlib.sha256(array.tobytes()).hexdigest() for array in graph.constants.values()]
        return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:8], "little")

    @property
    def saved(self) -> tuple[str, ...]:
        """States that are kept when the power is off."""
        training = self.learner.training
        named = {*training.learned, *training.moments}
        return tuple(name for name in self.learner.states if name in named)

    def _bytes(self, state: str) -> int:
        return int(self.learner.states[state].initial.nbytes)

    @property
    def states_bytes(self) -> int:
        return sum(map(self._bytes, self.saved))

    @property
    def slot_bytes(self) -> int:
        return -(-(HEADER_BYTES + self.states_bytes) // 8) * 8

    # ---- how it is called -------------------------------------------------------------------------------------------

    def arguments(self, which: str) -> list[tuple[str, str, bool]]:
        """Names, C types, and whether it is written."""
        writer = self.writers[which]
        graph, names = writer.schedule.graph, writer.identifiers
        given = [(names[name], writer.c_type_of(name), False) for name in graph.inputs]
        return given + [(names[name], writer.c_type_of(name), True) for name in dict.fromkeys(graph.outputs)]

    def _parameters(self, which: str) -> str:
        listed = [f"{'' if made else 'const '}{kind} *{name}" for name, kind, made in self.arguments(which)]
        return ", ".join(listed) or "void"

    def _names(self, which: str) -> list[str]:
        return [name for name, _, _ in self.arguments(which)]

    def header(self) -> str:
        """NAME.h: what a firmware calls."""
        name, macro, learner = self.name, self.macro, self.learner
        infer = "" if self.infer is None else f"""
/* What the network gives, with the weights as they are now. Returns 0.
{self._listed("infer")}
 */
int {name}_infer({self._parameters("infer")});
"""  # fmt: skip
        return f"""\
/* A network that learns: {len(learner.training.weights)} trained tensors. Generated by Tilewright.
 *
 *   {name}_reset();
 *   for (;;) {{ {name}_train(...) as often as wanted; {name}_update(); }}
 *
 * There is one, in static memory of {macro}_MEMORY_BYTES; its functions are called by one thread at a time. */
#ifndef {macro}_H
#define {macro}_H

#include <stdint.h>

#include "{ERRORS}"

#define {macro}_MEMORY_BYTES {learner.arena_bytes} /* weights, gradients and activations */
#define {macro}_SLOT_BYTES {self.slot_bytes} /* of what is saved once */
#define {macro}_SAVED_BYTES {2 * self.slot_bytes} /* of the memory that keeps weights: two slots */

#ifdef __cplusplus
extern "C" {{
#endif

/* First weights, nothing learned. Call it before anything else. Returns 0. */
int {name}_reset(void);

/* One step: the loss of one input, whose gradients are {self._gradients}. Returns 0, TW_LEARNER_LABEL
 * or TW_LEARNER_NOT_FINITE ({ERRORS}).
{self._listed("train")}
 */
int {name}_train({self._parameters("train")});

/* {self._update}. Returns 0 or TW_LEARNER_NOTHING_LEARNED. */
int {name}_update(void);
{infer}
/* Writes what was learned into {macro}_SAVED_BYTES that the power does not take away. The older of its two slots is
 * overwritten: if the power fails at any time, what was saved before is still there. Returns 0 or
 * TW_LEARNER_NOT_WRITTEN. Where memory is not written like an array, compile with -DTW_LEARNER_WRITE=function:
 * int function(unsigned char *to, const unsigned char *from, uint32_t bytes) returns 0 when the bytes are there. */
int {name}_save(void *buffer);

/* Goes on from what was saved last. Returns 0, or has changed nothing: TW_LEARNER_NOTHING_SAVED or
 * TW_LEARNER_OTHER_NETWORK. */
int {name}_load(const void *buffer);

#ifdef __cplusplus
}}
#endif

#endif
"""

    @property
    def _gradients(self) -> str:
        """What becomes of those of a step."""
        return "added up for the next update" if self.learner.training.buffers else "applied to the weights at once"

    @property
    def _update(self) -> str:
        """What an update does."""
        if not self.learner.training.buffers:
            return "Has nothing left to do: each step updates the weights"
        return "Applies the gradients of all steps since the last update"

    def _listed(self, which: str) -> str:
        writer = self.writers[which]
        graph = writer.schedule.graph
        lines = [
            f" *   {writer.identifiers[tensor]}: {graph.types[tensor]}, '{comment(tensor)}'"
            for tensor in (*graph.inputs, *dict.fromkeys(graph.outputs))
        ]
        return "\n".join(lines)

    def calls(self) -> str:
        """What learner.c knows of this network."""
        macro, name, training = self.macro, self.name, self.learner.training
        loss = self.train.identifiers[self.train.schedule.graph.outputs[0]]
        first = self.learner.offset(FIRST) if FIRST in self.learner.states else -1
        classes = classes_of(training.train)
        label, count = ("", 0) if classes is None else (self.train.identifiers[classes.label], classes.labels)
        infer = "" if self.infer is None else (
            f"#define TW_LEARNER_INFER_PARAMETERS {self._parameters('infer')}\n"
            f"#define TW_LEARNER_INFER_ARGUMENTS {', '.join(self._names('infer'))}\n"
        )  # fmt: skip
        return f"""\
/* How the networks of {name} are called. Generated by Tilewright. */
#ifndef {macro}_CALLS_H
#define {macro}_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "{name}.h"

#define TW_LEARNER_FUNCTION(name) {name}_##name
#define TW_LEARNER_TRAIN_PARAMETERS {self._parameters("train")}
#define TW_LEARNER_TRAIN_ARGUMENTS {", ".join(self._names("train"))}
#define TW_LEARNER_LOSS_NAME {loss}
#define TW_LEARNER_LABEL_NAME {label}
#define TW_LEARNER_LABELS {count}
#define TW_LEARNER_CLASSES {classes.count if classes else 0} /* a label is one of them; 0 if there are no labels */
#define TW_LEARNER_INFERS {int(self.infer is not None)}
{infer}#define TW_LEARNER_FIRST {first} /* where it is kept whether the next step overwrites gradients */
#define TW_LEARNER_NETWORK_0 {self.number & 0xFFFFFFFF:#x}u
#define TW_LEARNER_NETWORK_1 {self.number >> 32:#x}u
#define TW_LEARNER_HEADER_BYTES {HEADER_BYTES}
#define TW_LEARNER_SLOT_BYTES {macro}_SLOT_BYTES
#define TW_LEARNER_STATES {len(self.saved)}
#define TW_LEARNER_STATES_BYTES {self.states_bytes}u

/* The memory of states and activations, from an aligned byte on. */
unsigned char *{name}_memory_at(uint32_t offset);

#ifdef TW_LEARNER_CALLS
{self._definitions()}
#endif

#endif
"""

    def _definitions(self) -> str:
        name, on_chip = self.name, self.is_on_chip
        rows = [f"  {{{self.learner.offset(one)}u, {self._bytes(one)}u}}, /* {comment(one)} */" for one in self.saved]
        includes = [f'#include "{which}/network.h"' for which in self.writers]
        runs = [
            f"static int run_{which}({self._parameters(which)}) {{ return {self._run(which)}; }}"
            for which in self.writers
        ]
        reset = f"{self.train.name}_reset({'' if self.learner.has_runtime else 'memory_at(0)'})"
        set_states = f"  {reset};\n  return 0;" if self.learner.has_runtime else f"  return {reset};"
        memory = self._chip_memory() if on_chip else self._process_memory()
        return "\n".join([
            *includes, "", "#ifndef TW_LEARNER_WRITE",
            "static int copied(unsigned char *to, const unsigned char *from, uint32_t bytes) {",
            "  memcpy(to, from, bytes);", "  return 0;", "}", "#define TW_LEARNER_WRITE copied", "#else",
            "int TW_LEARNER_WRITE(unsigned char *to, const unsigned char *from, uint32_t bytes);", "#endif", "",
            memory, "", f"#define memory_at {name}_memory_at", "", *runs, "", "static int reset_states(void) {",
            set_states, "}", "", "/* What is saved. */", "static const struct {", "  uint32_t offset, bytes;",
            "} states[] = {", *rows, "};",
        ])  # fmt: skip

    def _run(self, which: str) -> str:
        memory = [] if self.learner.has_runtime else ["memory_at(0)"]
        return f"{self.writers[which].name}_run({', '.join([*self._names(which), *memory])})".replace(
            "memory_at", f"{self.name}_memory_at"
        )

    def _chip_memory(self) -> str:
        learner = self.learner
        placed = placed_in(learner.target.home_memory)
        return (
            f"unsigned char {learner.arena}[{learner.arena_bytes}] {placed};\n"
            f"unsigned char *{self.name}_memory_at(uint32_t offset) {{ return {learner.arena} + offset; }}"
        )

    def _process_memory(self) -> str:
        """C99 cannot align an array: it is a little longer, and begins at its first aligned byte."""
        size, alignment = self.learner.arena_bytes, self.learner.alignment
        return f"""\
static unsigned char {self.learner.arena}[{size} + {alignment}];
unsigned char *{self.name}_memory_at(uint32_t offset) {{
  const uintptr_t over = (uintptr_t){self.learner.arena} % {alignment}u;
  return {self.learner.arena} + (over ? {alignment}u - over : 0u) + offset;
}}"""

    # ---- programs ---------------------------------------------------------------------------------------------------

    def _main(self) -> str:
        """Ten steps on zeros, a save and a load."""
        name, macro = self.name, self.macro
        buffers = [self._buffer("train", tensor) for tensor in self._tensors("train")]
        taken = set(self._names("train"))
        if self.infer is not None:
            more = [one for one in self._tensors("infer") if self.infer.identifiers[one] not in taken]
            buffers += [self._buffer("infer", tensor) for tensor in more]
        infers = (
            "" if self.infer is None else f"  if ({name}_infer({', '.join(self._names('infer'))}) != 0) return 1;\n"
        )
        loss = self.train.identifiers[self.train.schedule.graph.outputs[0]]
        return f"""\
/* How to call a network that learns: steps, updates, inference, and weights that outlive the power. Data is zero here:
 * put yours there. */
#include <stdio.h>

#include "{name}.h"

{chr(10).join(buffers)}
static unsigned char kept[{macro}_SAVED_BYTES];

int main(void) {{
  if ({name}_reset() != 0) return 1;
  for (int step = 0; step < 10; step++) {{
    if ({name}_train({", ".join(self._names("train"))}) != 0) return 1;
    printf("loss %g\\n", (double)*{loss});
    if ({name}_update() != 0) return 1;
  }}
{infers}  return {name}_save(kept) != 0 || {name}_load(kept) != 0;
}}
"""

    def _tensors(self, which: str) -> list[str]:
        graph = self.writers[which].schedule.graph
        return [*graph.inputs, *dict.fromkeys(graph.outputs)]

    def _buffer(self, which: str, tensor: str) -> str:
        writer = self.writers[which]
        kind = writer.schedule.graph.types[tensor]
        return f"static {C_TYPES[kind.dtype]} {writer.identifiers[tensor]}[{max(kind.elements, 1)}];"

    def prepare_header(self) -> str:
        """runtime/program_prepare.h: buffers of the program on a chip, and how it calls the networks."""
        target, lines = self.learner.target, list[str]()
        home = target.home_memory
        if self.learner.has_runtime:
            lines = _opening(list(self.writers.values()))
        buffers, calls = list[str](), list[str]()
        for which in ("train", "infer"):
            if which in self.writers:
                pointers = []
                for number, (tensor, argument) in enumerate(
                    zip(self._tensors(which), self.arguments(which), strict=True)
                ):
                    size = max(self.writers[which].schedule.graph.types[tensor].bytes, 1)
                    buffers.append(f"uint8_t tw_{which}_{number}[{size}] {placed_in(home)};")
                    _, kind, made = argument
                    pointers.append(f"({'' if made else 'const '}{kind} *)tw_{which}_{number}")
                calls.append(
                    f"static int program_{which}(void) {{ return {self.name}_{which}({', '.join(pointers)}); }}"
                )
            else:
                calls.append(f"static int program_{which}(void) {{ return TW_LEARNER_FAILED; }}")
        memories = self.train.memories.behind if self.learner.has_runtime else ()
        include = "".join(
            f'#include "{memory.symbol}.h"\n'
            for memory in memories
            if any(memory in writer.opened for writer in self.writers.values())
        )
        newline = "\n"
        return f"""\
/* What the program around {self.name} needs to know of it. Generated by Tilewright. */
#include "../{CALLS}"
{include}
{newline.join(buffers)}

{newline.join(calls)}

static void program_prepare(void) {{
{newline.join(f"  {line}" for line in lines)}
}}
"""


def _opening(writers: list[Writer]) -> list[str]:
    memories = writers[0].memories
    opened = [memory for memory in memories.behind if any(memory in writer.opened for writer in writers)]
    filled = [memory for memory in opened if any(writer.stored(memory) for writer in writers)]
    lines = [f"static uint8_t staging[2048] {placed_in(memories.home)};"] if filled else []
    return lines + [line for memory in opened for line in opening(memory, memory in filled)]
