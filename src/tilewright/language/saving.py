"""The C of a language model as a folder that builds: a library, and a program that shows how it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tilewright.codegen import cluster_cmake, example
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.folder import needs_math, write
from tilewright.codegen.names import LIBRARY_HEADERS
from tilewright.codegen.network import symbol_prefix
from tilewright.codegen.program_call import PROGRAM
from tilewright.codegen.texts import Text, Texts
from tilewright.language.folder import CLUSTER_PROGRAM, FOLDER, SOURCES, ModelC, prepare_header
from tilewright.language.places import Caller, Chip, Place
from tilewright.language.sampler import HEADERS as SAMPLER
from tilewright.language.talking import TEXT_STACK
from tilewright.language.text.tokenizer_tables import HEADERS as TOKENIZER

EXAMPLE, TALK = "main.c", "talk.c"
"""The program for the host; and what programs share, of which a firmware with several models has no use."""
TAKEN = LIBRARY_HEADERS | {"main", "calls", "words", *(Path(name).stem for name in (*SOURCES, *SAMPLER, *TOKENIZER))}
"""Files that are there whatever a model is called, and headers that are included."""


def model_name(wanted: str) -> str:
    """Prefix of the public symbols and of files."""
    name = symbol_prefix(wanted)
    return f"model_{name}" if name in TAKEN else name


def save(model: ModelC, folder: Path) -> list[str]:
    """Write the folder, which appears whole or not at all; the names of its files."""
    texts = files(model)
    write(texts, folder, own={name.partition("/")[0] for name in texts})
    return sorted(texts)


def files(model: ModelC) -> Texts:
    """Relative path -> text of every file."""
    written = dict(model.texts())
    texts: dict[str, Text] = {**written, **model.constants()}
    # That one calls a single network, which a model is not.
    texts.pop(PROGRAM, None)
    return Texts(texts | PROGRAMS[type(model.place)](model, texts, _symbols(model, written)))


def _on_chip(model: ModelC, texts: Mapping[str, Text], own: Sequence[str]) -> dict[str, str]:
    more = {CLUSTER_PROGRAM: (FOLDER / CLUSTER_PROGRAM).read_text(), "program_prepare.h": prepare_header(model)}
    writers = list(model.modes.writers.values())
    names, sources = [*texts, *more], (CLUSTER_PROGRAM, TALK)
    made = cluster_cmake.cmake_of(model.name, f"{model.name}_model", own, writers, names, sources, TEXT_STACK)
    return more | {"CMakeLists.txt": made}


def _by_caller(model: ModelC, texts: Mapping[str, Text], own: Sequence[str]) -> dict[str, str]:
    library, math = f"{model.name}_model", _needs_math(model, texts)
    made = example.cmake_of(model.name, library, own, texts, math, (EXAMPLE, TALK))
    return {EXAMPLE: (FOLDER / EXAMPLE).read_text(), "CMakeLists.txt": made}


PROGRAMS: Mapping[type[Place], Callable[[ModelC, Mapping[str, Text], Sequence[str]], dict[str, str]]] = {
    Caller: _by_caller, Chip: _on_chip,
}  # fmt: skip
"""The program around a model, and how CMake builds it."""


def _symbols(model: ModelC, texts: Mapping[str, str]) -> list[str]:
    """Of both networks, of what joins them, and of the tokenizer."""
    headers = [texts[f"{model.name}{part}.h"] for part in ("", "_tokenizer")]
    return symbols(model.modes.writers.values(), headers) + model.place.public_arrays(model.modes.arena)


def _needs_math(model: ModelC, texts: Mapping[str, Text]) -> bool:
    return any(needs_math(writer, texts) or writer.has_special_values() for writer in model.modes.writers.values())
