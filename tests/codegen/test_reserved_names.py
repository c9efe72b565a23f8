"""Inputs, outputs and networks may be called like anything that generated code, the runtime or C has for itself: all of
it is found in the files that are made, so that a new name in a template is noticed here."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.planner.networks import NETWORKS
from tests.support.models import model, node, residual
from tilewright.codegen.names import NOTHING, Reserved, identifier, is_known_to_compilers, unique
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.program import Program
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import BARE, STRICT, find_compiler

AWKWARD = [
    "near", "far", "l1", "l2", "wmem", "l3", "all_layers", "tw_fork", "layer_0_run", "layer_0_params", "arena", "main",
    "params", "scratch", "tile", "turn", "i0", "i", "memory", "arena_memory", "io_x", "after_layer_0", "staging",
    "program_run", "program_output_0", "memcpy", "printf", "expf", "exp", "stdin", "int", "for", "restrict", "int8_t",
    "size_t", "inline", "bool", "asm", "null", "NULL", "INT32_MIN", "TW_CORES", "network_run", "perm", "starts",
    "harness_call", "guarded", "length", "input_bytes", "tw_serve", "round", "cabsf", "y1", "index",
]  # fmt: skip

NETS = ("residual", "broadcasts", "leftovers", "parts", "joined", "normalised", "wide_integers", "branches")
TEXTS = ("network.c", "network.h", "network_data.c", "network_data.h", "main.c", "runtime/program_call.h")
SETTINGS = {
    "generic": [Settings()],
    "siracusa": [Settings(2, 4_000, home="L3"), Settings(8), Settings(2, 8_000, 110_000)],
}
TOKEN = re.compile(r"(?<![\w.>])[a-z_][a-z0-9_]*\b")


def renamed(made: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """With the name for the first input, and the same with something behind it for the first output."""
    names = {made.graph.input[0].name: name, made.graph.output[0].name: f"{name} "}
    for value in (*made.graph.input, *made.graph.output):
        value.name = names.get(value.name, value.name)
    for one in made.graph.node:
        for words in (one.input, one.output):
            words[:] = [names.get(word, word) for word in words]
    return made


def many() -> onnx.ModelProto:
    """All of the names at once: inputs and outputs of one network."""
    nodes, size = [], len(AWKWARD)
    for number, name in enumerate(AWKWARD):
        nodes.append(node("Relu" if number % 2 else "Neg", "x", "y", name=name))
        nodes[-1].input[0], nodes[-1].output[0] = name, f"{AWKWARD[(number + 1) % size]}."
    made = model(nodes, {"x": (3,)}, [])
    del made.graph.input[:]
    value = onnx.helper.make_tensor_value_info
    made.graph.input.extend(value(name, 1, [3]) for name in AWKWARD)
    made.graph.output.extend(value(f"{name}.", 1, [3]) for name in AWKWARD)
    return made


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_they_all_build_and_agree(target: str) -> None:
    program = tw.compile(many(), target=target)
    check = program.check()
    assert check.agrees
    assert len(check.outputs) == len(AWKWARD)


@pytest.mark.in_turns(6)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["l2", "layer_0_run", "arena", "tile", "memcpy", "all_layers", "i", "perm"])
@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_each_alone_in_a_network_with_constants(name: str, target: str) -> None:
    settings = Settings(home="L3") if target == "siracusa" else Settings()
    assert tw.compile(renamed(residual(), name), target=target, settings=settings).check().agrees


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_a_tensor_called_like_a_table_of_parameters(target: str) -> None:
    """Concat's `length` is an array beside the pointers to its operands, and would hide an operand of that name."""
    nodes = [node("Relu", "x", "length"), node("Concat", "length x length", "y", axis=1)]
    made = model(nodes, {"x": (2, 3)}, ["y", "length"])
    assert tw.compile(made, target=target).check().agrees


@pytest.mark.in_turns(5)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["program", "io", "tw", "layer_0", "harness", "main", "tw_fork", "int", "l2"])
def test_networks_are_called_anything(name: str) -> None:
    constants = {"run": np.ones(3, np.float32), "relu_f32": np.ones(3, np.float32)}
    made = model([node("Add", "x run", "a"), node("Mul", "a relu_f32", "y")], {"x": (3,)}, ["y"], constants)
    for target in ("generic", "siracusa"):
        assert tw.compile(made, target=target, name=name).check().agrees


@pytest.mark.in_turns(3)
def test_the_example_builds_with_them(tmp_path: Path) -> None:
    """main.c has a buffer for each of them at file scope."""
    tw.compile(many()).save(tmp_path / "c")
    sources = ["main.c", "network.c", "network_data.c", *(f"kernels/{p.name}" for p in tmp_path.glob("c/kernels/*.c"))]
    for flags in (STRICT, ("-std=gnu99", "-Wall", "-Wextra", "-Werror")):
        find_compiler().run([*flags, "-O1", BARE, "-I.", *sources, "-o", "program", "-lm"], tmp_path / "c")


@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_the_header_is_c_plus_plus_too(target: str, tmp_path: Path) -> None:
    """Also with its words, and those of a later C, for inputs and outputs."""
    words = ["new", "class", "this", "and", "operator", "constexpr", "nullptr", "typeof_unqual", "not_eq"]
    nodes = [node("Relu" if number else "Neg", "new", word) for number, word in enumerate(words[1:])]
    files = tw.compile(model(nodes, {"new": (3,)}, words[1:]), target=target, name="class").files
    (tmp_path / "network.h").write_text(files["network.h"])
    (tmp_path / "program.cpp").write_text('#include "network.h"\nint main() { return sizeof(&class_run) == 0; }\n')
    find_compiler().run(["-x", "c++", "-c", "program.cpp", "-o", "program.o"], tmp_path)


# ---- what generated code calls its own ------------------------------------------------------------------------------


@cache
def programs(target: str) -> list[Program]:
    made = [residual if name == "residual" else NETWORKS[name] for name in NETS]
    choices = SETTINGS[target]
    return [
        tw.compile(make(), target=target, name="zz", settings=choices[number % len(choices)])
        for number, make in enumerate(made)
    ]


def writer(program: Program) -> Writer:
    return Writer(program.compiled.schedule, symbol_prefix("zz"))


def code(text: str) -> str:
    """Without comments, strings and the names of included files."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    return re.sub(r"^#include .*$", "", text, flags=re.MULTILINE)


def locals_of(text: str) -> set[str]:
    """Loop variables of functions in which no tensor of the caller has a name."""
    return set(re.findall(r"\bconst int (\w+) = tile", text))


@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_every_name_in_generated_code_is_the_models_or_reserved(target: str) -> None:
    for program in programs(target):
        made = writer(program)
        own = set(made.identifiers.values()) | made._tables
        for name in TEXTS:
            text = code(program.files.get(name, ""))
            for word in set(TOKEN.findall(text)) - own - locals_of(text):
                known = word in DIRECTIVES or word in UNREACHABLE.get(name, ()) or is_known_to_compilers(word)
                assert known or word.startswith(("tw_", "zz_", "__")) or made.reserved.has(word), (name, word)


DIRECTIVES = {"define", "ifdef", "ifndef", "endif", "else", "include", "extern"}
UNREACHABLE = {
    "network.h": {"real", "integer", "steps", "nearest", "low", "high", "scale", "zero_point"},
    "runtime/program_call.h": {
        "program_outputs", "program_output_bytes", "program_prepare", "program_run", "staging", "section", "aligned",
        *(f"program_{kind}_{number}" for kind in ("input", "output") for number in range(9)),
    },
    "network.c": {"section", "common", "aligned", "layer", "result", "data", "bytes", "defined"},
    "network_data.c": {"section", "aligned"},
}  # fmt: skip
"""Names of files that say no name of a tensor, words of attributes, and parameters of prototypes and macros."""


def test_tensors_of_the_caller_have_no_name_in_the_program_around() -> None:
    """Otherwise its names would have to be reserved."""
    text = code(tw.compile(renamed(residual(), "visible"), target="siracusa").files["runtime/program_call.h"])
    assert "visible" not in text


def test_headers_declare_nothing_without_a_prefix() -> None:
    """All that is declared at file scope in headers that network.c sees begins as no name of a model does."""
    for program in (*programs("generic"), *programs("siracusa")):
        seen = visible(program.files, "network.c")
        assert "kernels/tw.h" in seen or "kernels/kernels.h" in seen
        for name in seen - {"network.c", "network.h", "network_data.h"}:
            for word in declared(code(program.files[name])):
                assert word.startswith(("tw_", "zz_", "__")) or is_known_to_compilers(word), (name, word)


def visible(files: Mapping[str, str], name: str) -> set[str]:
    """A file, and all that it includes, itself or by others."""
    found, waiting = set[str](), [name]
    while waiting:
        path = waiting.pop()
        if path in found or path not in files:
            continue
        found.add(path)
        places = re.findall(r'^#include "([^"]+)"', files[path], re.MULTILINE)
        waiting += [posixpath.normpath(posixpath.join(posixpath.dirname(path), place)) for place in places]
    return found


def declared(text: str) -> set[str]:
    """Lower-case names of functions, types, variables and macros at file scope."""
    macros = set(re.findall(r"^\s*#\s*define\s+([a-z_][a-z0-9_]*)", text, re.MULTILINE))
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    flat, depth = "", 0
    for character in text:
        depth += (character == "{") - (character == "}")
        flat += character if depth == 0 else " "
    functions = re.findall(r"\b([a-z_][a-z0-9_]*)\s*\(", flat)
    others = re.findall(r"\b([a-z_][a-z0-9_]*)\s*(?:\[[^\]]*\])*\s*;", flat)
    return macros | set(functions) | set(others)


@pytest.mark.fast
def test_reserved_names_are_avoided() -> None:
    made = unique({"a": "int", "b": "int", "c": "int_"}, reserved=NOTHING)
    assert len(set(made.values())) == 3
    assert not any(map(is_known_to_compilers, made.values()))
    one = Reserved(frozenset({"l2"}), (r"io_.*",))
    assert unique({"a": "l2", "b": "l2_2", "c": "io_x"}, reserved=one) == {
        "a": "l2_2",
        "b": "l2_2_2",
        "c": "tensor_io_x",
    }
    families = Reserved(families=(r"layer_\d+",))
    assert unique({"a": "layer", "b": "Layer", "c": "layer_3"}, reserved=families) == {
        "a": "layer",
        "b": "tensor_layer",
        "c": "tensor_layer_3",
    }
    assert identifier("printf") == "printf_"
    assert identifier("expf") == "expf_"
    assert identifier("tw_fork") == "tensor_tw_fork"
    assert symbol_prefix("program") == "network_program"
