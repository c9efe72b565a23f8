"""What of a language model's C depends on where it runs: who has the arena, and what is around the networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tilewright.codegen import cluster_program
from tilewright.codegen.network import Writer


class Place(ABC):
    """Of both networks of a model; `writer` is that of either."""

    arguments: ClassVar[tuple[str, ...]]
    """Those that a network is called with behind its tensors."""

    @abstractmethod
    def arena_bytes(self, writer: Writer) -> int:
        """That a network needs."""

    @abstractmethod
    def arena(self, writer: Writer, name: str, size: int) -> str:
        """The definition of one of this size and name."""

    @abstractmethod
    def runtime_files(self, writer: Writer) -> dict[str, str]:
        """What runs beside the networks."""

    @abstractmethod
    def public_arrays(self, name: str) -> list[str]:
        """Symbols of the program that no header declares; `name` is the arena's."""


class Caller(Place):
    """In a process: the arena is a parameter."""

    arguments = ("arena()",)

    def arena_bytes(self, writer: Writer) -> int:
        return max(writer.schedule.arena_bytes, 1)

    def arena(self, writer: Writer, name: str, size: int) -> str:
        alignment = writer.schedule.target.home_memory.alignment
        return f"""
/* C99 cannot align an array: it is a little longer, and the arena begins at its first aligned byte. */
static unsigned char memory[{size} + {alignment}];
static void *arena(void) {{ return memory + ({alignment} - (uintptr_t)memory % {alignment}) % {alignment}; }}"""

    def runtime_files(self, writer: Writer) -> dict[str, str]:
        return {}

    def public_arrays(self, name: str) -> list[str]:
        return []


class Chip(Place):
    """With a runtime, which knows where the arena is."""

    arguments = ()

    def arena_bytes(self, writer: Writer) -> int:
        own = writer
        return max(own.arena_bytes(own.memories.home), own.memories.home.alignment)

    def arena(self, writer: Writer, name: str, size: int) -> str:
        memory = writer.schedule.target.home_memory
        return f'uint8_t {name}[{size}] __attribute__((section("{memory.section}"), aligned({memory.alignment})));'

    def runtime_files(self, writer: Writer) -> dict[str, str]:
        return cluster_program.files(writer.schedule.target)

    def public_arrays(self, name: str) -> list[str]:
        return [name]


def place_of(writer: Writer) -> Place:
    return Chip() if writer.has_runtime else Caller()
