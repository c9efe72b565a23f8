"""The C of a language model as a folder that builds: a library, and a program that shows how it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tilewright.codegen import cluster_cmake, cross_files, example
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.folder import needs_math, write
from tilewright.codegen.names import LIBRARY_HEADERS
from tilewright.codegen.network import symbol_prefix
from tilewright.codegen.program_call import PROGRAM
from tilewright.codegen.texts import Text, Texts
from tilewright.errors import CompileError
from tilewright.language.folder import CLUSTER_PROGRAM, FOLDER, SOURCES, TALKING, TEXT_STACK, ModelC, prepare_header
from tilewright.language.library import WEIGHTS_SUFFIX
from tilewright.language.places import Chip, Linked, Mapped, OnGpu, Place
from tilewright.language.sampler import HEADERS as SAMPLER
from tilewright.language.text.tokenizer_tables import HEADERS as TOKENIZER
from tilewright.target.runner import GpuProcess

FILE, IN_C = "file", "c"
"""Forms of weights: beside the program, or part of it."""
EXAMPLE, TALK = "main.c", "talk.c"
"""The program for the host; and what programs share, of which a firmware with several models has no use."""
OWN = (*SOURCES, *TALKING, *OnGpu.sources, *Linked.sources, *SAMPLER, *TOKENIZER)
TAKEN = LIBRARY_HEADERS | {"main", "calls", "words", *(Path(name).stem for name in OWN)}
"""Files that are there whatever a model is called, and headers that are included."""


def model_name(wanted: str) -> str:
    """Prefix of the public symbols and of files."""
    name = symbol_prefix(wanted)
    return f"model_{name}" if name in TAKEN else name


def check_form(weights: str) -> None:
    if weights not in (FILE, IN_C):
        raise CompileError(f"weights {weights!r}", "are unknown", f"choose {FILE} or {IN_C}")


def save(model: ModelC, folder: Path, weights: str = FILE) -> list[str]:
    """Write the folder, which appears whole or not at all; the names of its files."""
    check_form(weights)
    if weights == IN_C and isinstance(model.place, OnGpu):
        raise CompileError("weights 'c'", "do not work on a GPU, which reads weights from a file", f"choose {FILE}")
    model = model.mapped(weights == FILE)
    texts = files(model)
    besides = {f"{model.name}{WEIGHTS_SUFFIX}": model.write_weights} if model.place.is_mapped else {}
    names = [*texts, *besides]
    write(texts, folder, besides, own={name.partition("/")[0] for name in (*names, *_other_form(model))})
    return sorted(names)


def _other_form(model: ModelC) -> tuple[str, ...]:
    """What a folder of the same model with its weights elsewhere has, which may be replaced."""
    return (*Linked.sources, *Mapped.sources, f"{model.name}{WEIGHTS_SUFFIX}")


def files(model: ModelC) -> Texts:
    """Relative path -> text of every file but that of the weights."""
    written = {**model.texts(), **model.tokenizer_texts()}
    texts: dict[str, Text] = {**written, **({} if model.place.is_mapped else model.constants())}
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
    target = model.modes.decoding.schedule.target
    more = example.pool(library) if target.agents.threads > 1 else ""
    more += example.driver(library, target.runner.api) if isinstance(target.runner, GpuProcess) else ""
    flags = example.computer_flags(target)
    made = example.cmake_of(model.name, library, own, texts, math, (EXAMPLE, TALK), flags, more)
    return {EXAMPLE: (FOLDER / EXAMPLE).read_text(), "CMakeLists.txt": made, **cross_files.files(target)}


PROGRAMS: Mapping[type[Place], Callable[[ModelC, Mapping[str, Text], Sequence[str]], dict[str, str]]] = {
    Linked: _by_caller, Mapped: _by_caller, OnGpu: _by_caller, Chip: _on_chip,
}  # fmt: skip
"""The program around a model, and how CMake builds it."""


def _symbols(model: ModelC, texts: Mapping[str, str]) -> list[str]:
    """Of both networks, of what joins them, and of the tokenizer."""
    headers = [texts[f"{model.name}{part}.h"] for part in ("", "_tokenizer")]
    return symbols(model.modes.writers.values(), headers) + model.place.public_arrays(model.modes.arena)


def _needs_math(model: ModelC, texts: Mapping[str, Text]) -> bool:
    writers, is_text = model.modes.writers.values(), not model.place.is_mapped
    return any(needs_math(writer, texts) or (is_text and writer.has_special_values()) for writer in writers)
