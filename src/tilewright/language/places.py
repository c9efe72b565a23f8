"""What of a language model's C depends on where it runs: who has the arena and the weights, and what is around the
networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tilewright.codegen import cluster_program, threads
from tilewright.codegen.network import WEIGHTS_ALIGNMENT, Writer
from tilewright.target.runner import GpuProcess


class Place(ABC):
    """Of the networks of a model; `writer` is that of any, `name` the model's."""

    arguments: ClassVar[tuple[str, ...]]
    """Those that a network is called with behind its tensors."""
    fields: ClassVar[tuple[str, ...]]
    """Of a context, besides what all have."""
    sources: ClassVar[tuple[str, ...]]
    """C of this folder that only programs in this place have."""
    is_mapped: ClassVar[bool] = False
    """Whether weights are a file."""
    keeps_states: ClassVar[bool] = True
    """Whether a context can be saved."""

    @abstractmethod
    def arena_bytes(self, writer: Writer) -> int:
        """That a network needs."""

    @abstractmethod
    def alignment(self, writer: Writer) -> int:
        """Of memory that the caller gives."""

    def arena(self, writer: Writer, name: str, size: int) -> str:
        """The definition of one of this size and name, where the caller gives none."""
        return ""

    @abstractmethod
    def functions(self, name: str) -> str:
        """Declarations of those that give a context what it needs."""

    def types(self, name: str) -> str:
        """That these need."""
        return ""

    @abstractmethod
    def runtime_files(self, writer: Writer) -> dict[str, str]:
        """What runs beside the networks."""

    def public_arrays(self, name: str) -> list[str]:
        """Symbols of the program that no header declares; `name` is the arena's."""
        return []


class Linked(Place):
    """In a process, or on a core without a runtime: weights are part of the program, the arena is the caller's."""

    arguments: ClassVar[tuple[str, ...]] = ("c->arena",)
    fields: ClassVar[tuple[str, ...]] = ("unsigned char *arena; /* caches and activations */",)
    sources: ClassVar[tuple[str, ...]] = ("context_linked.c", "context_state.c")

    def arena_bytes(self, writer: Writer) -> int:
        return max(writer.schedule.arena_bytes, 1)

    def alignment(self, writer: Writer) -> int:
        return writer.schedule.target.home_memory.alignment

    def functions(self, name: str) -> str:
        macro = name.upper()
        return f"""\
/* Makes a context in memory of the caller's: {macro}_MEMORY_BYTES, aligned to {macro}_ALIGNMENT, of any content.
 * Pages of it that no token has needed yet are not touched. Call it before anything else. Returns 0, or an error below
 * 0 (language_model.h). */
TW_LM_API int32_t {name}_begin({name}_context *context, void *memory, size_t bytes);
"""

    def runtime_files(self, writer: Writer) -> dict[str, str]:
        return threads.files(writer.schedule)


class Mapped(Linked):
    """The same with weights that are a file, or that the caller has in memory."""

    arguments = ("c->arena", "c->weights")
    fields = (*Linked.fields, "const unsigned char *weights;", "uint64_t contents; /* which weights */")
    sources: ClassVar[tuple[str, ...]] = ("context_mapped.c", "context_state.c")
    is_mapped = True

    def types(self, name: str) -> str:
        return f"""
/* An opened model, which any number of contexts read. */
typedef struct {{
  const unsigned char *weights;
  uint64_t contents; /* which weights */
  size_t mapped;     /* bytes, if the file is */
}} {name}_model;
"""

    def functions(self, name: str) -> str:
        macro = name.upper()
        return f"""\
/* Maps a weights file, {macro}_WEIGHTS_BYTES long. Returns 0, or an error below 0 (language_model.h). */
TW_LM_API int32_t {name}_open({name}_model *model, const char *path);

/* The same with the contents of the file in memory, aligned to {WEIGHTS_ALIGNMENT}, as long as the model is used. */
TW_LM_API int32_t {name}_use({name}_model *model, const void *weights, size_t bytes);

/* Ends the mapping; no context may be used any more. */
TW_LM_API void {name}_close({name}_model *model);

/* Makes a context in memory of the caller's: {macro}_MEMORY_BYTES, aligned to {macro}_ALIGNMENT, of any content.
 * Pages of it that no token has needed yet are not touched. Call it before anything else. */
TW_LM_API int32_t {name}_begin({name}_context *context, const {name}_model *model, void *memory, size_t bytes);
"""


class OnGpu(Mapped):
    """The same with a GPU beside the processor, which has a copy of the weights, and caches of each context."""

    sources = (*Mapped.sources, "context_gpu.c")

    def functions(self, name: str) -> str:
        return f"""{super().functions(name)}
/* Gives back what the GPU has for a context, which is used no more. */
TW_LM_API void {name}_end({name}_context *context);

/* After TW_MODEL_FAILED: what failed on the GPU, and on a line of its own what to do about it. */
TW_LM_API const char *{name}_gpu_error(void);
"""


class Chip(Place):
    """With a runtime, which knows where the arena is: there is one context."""

    arguments = ()
    fields = ()
    sources = ()
    keeps_states = False

    def arena_bytes(self, writer: Writer) -> int:
        own = writer
        return max(own.arena_bytes(own.memories.home), own.memories.home.alignment)

    def alignment(self, writer: Writer) -> int:
        return writer.schedule.target.home_memory.alignment

    def arena(self, writer: Writer, name: str, size: int) -> str:
        memory = writer.schedule.target.home_memory
        return f'uint8_t {name}[{size}] __attribute__((section("{memory.section}"), aligned({memory.alignment})));'

    def functions(self, name: str) -> str:
        return ""

    def runtime_files(self, writer: Writer) -> dict[str, str]:
        return cluster_program.files(writer.schedule.target)

    def public_arrays(self, name: str) -> list[str]:
        return [name]


def place_of(writer: Writer) -> Place:
    if writer.has_runtime:
        return Chip()
    if writer.shared.weights is None:
        return Linked()
    return OnGpu() if isinstance(writer.schedule.target.runner, GpuProcess) else Mapped()
