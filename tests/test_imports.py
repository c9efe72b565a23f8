"""Imports point down the list of folders: no stage reaches back, no module needs itself, generic code names no target.

Imports for the type checker alone count as all others do.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tilewright

fast = pytest.mark.fast

ROOT = Path(tilewright.__file__).parent

LAYERS = [
    ["errors", "records", "version"],
    ["ir", "toolchain", "whole_file"],
    ["memory", "grammar", "sim"],
    ["ops", "requant", "tiling"],
    ["passes", "frontends", "emulator"],
    ["export"],
    ["target"],
    ["targets", "accelerator", "own_kernels"],
    ["instruction"],
    ["planner"],
    ["codegen"],
    ["run", "pipeline"],
    ["profiling", "analysis", "quantiser"],
    ["calibration", "program"],
    ["bringup"],
    ["language", "exploring", "training"],
    ["report", "serving"],
    ["cli"],
    ["__main__"],
]
"""Every folder and every module beside them, from the ground up. A module may import from its own folder and from lines
above it in this list."""

HEAVY = {
    "onnx": {"frontends", "export"},
    "google": {"frontends"},
    "ortools": {"memory", "planner"},
    "typer": {"cli"},
    "rich": {"report"},
    "torch": {"frontends"},
    "tensorflow": {"frontends"},
    "keras": {"frontends"},
    "tf2onnx": {"frontends"},
    "jax": {"frontends"},
    "flax": {"frontends"},
    "safetensors": {"frontends"},
    "capstone": {"emulator", "instruction"},
    "unicorn": {"emulator"},
    "dask": {"exploring"},
    "distributed": {"exploring"},
    "pyarrow": {"exploring"},
    "plotly": {"report"},
    "jinja2": {"language"},
    "starlette": {"serving"},
    "uvicorn": {"serving"},
}
"""Packages that only these parts may import."""


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"))


@cache
def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


IMPORT = re.compile(r"^[ \t]*((?:from[ \t]+\S+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^\n]*))", re.MULTILINE)
"""A statement that imports, or prose that begins like one."""


@cache
def imported(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, wherever in the file. Only what looks like an import is parsed,
    which takes a tenth of the time."""
    return set().union(*map(_imported, IMPORT.findall(path.read_text())))


@cache
def _imported(text: str) -> set[str]:
    try:
        return names_in(ast.parse(text), text)
    except SyntaxError:
        return set()


def names_in(tree: ast.AST, where: str) -> set[str]:
    found: set[str] = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{where} imports by position: name the module"
            assert node.level == 0, f"{where} imports by position: name the module"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All of them, however deep; no expression has an import inside."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield node
            yield from statements(node)


def level(part: str) -> int:
    return next(i for i, parts in enumerate(LAYERS) if part in parts)


@cache
def is_ours(name: str) -> bool:
    """Whether a dotted name is a module or a folder of the package, not something that its `__init__` gives."""
    parts = name.split(".")
    inside = len(parts) > 1 and ((ROOT / parts[1]).exists() or (ROOT / f"{parts[1]}.py").exists())
    return parts[0] == "tilewright" and inside


def offences(is_wrong: Callable[[str, str], bool]) -> list[str]:
    """All imports of the package that are wrong, given the part of the package and the name that it imports."""
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        for name in imported(path)
        if is_wrong(part_of(path), name)
    ]


def dotted(path: Path) -> str:
    """The name that a module is imported by."""
    names = ("tilewright", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def needed() -> dict[str, set[str]]:
    """Every module below the package's face, and those that it names in its imports."""
    found = {dotted(path): imported(path) for path in modules()}
    return {name: names & found.keys() for name, names in found.items()}


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules of which each needs the one before it, the first one at both ends; empty where there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@fast
def test_the_list_is_that_of_the_folders() -> None:
    assert {part_of(path) for path in modules()} == {part for parts in LAYERS for part in parts}


@pytest.mark.in_turns(6)
def test_no_import_is_overlooked() -> None:
    """What a full parse finds, the quick look finds too."""
    for path in modules():
        assert names_in(ast.parse(path.read_text()), path.name) <= imported(path)


def test_imports_point_down() -> None:
    def is_wrong(part: str, name: str) -> bool:
        other = name.split(".")[1] if is_ours(name) else part
        return other != part and level(other) >= level(part)

    assert offences(is_wrong) == []


def test_nothing_inside_needs_the_package_as_its_users_see_it() -> None:
    """It gives what lies above most of it."""
    wanted = re.compile(r"^\s*import tilewright( as \w+)?$", re.MULTILINE)
    assert [str(path) for path in modules() if wanted.search(path.read_text())] == []


def test_no_module_needs_itself() -> None:
    assert circle(needed()) == []


def rooms() -> dict[str, dict[str, set[str]]]:
    """Every folder, and which of its folders and modules needs which others."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, others in needed().items():
        for other in others:
            here, there = name.split("."), other.split(".")
            depth = next((i for i, (one, two) in enumerate(zip(here, there, strict=False)) if one != two), None)
            if depth is not None:
                graph = found.setdefault(".".join(here[:depth]), {})
                graph.setdefault(here[depth], set()).add(there[depth])
    return found


@fast
def test_no_folder_needs_itself_through_another() -> None:
    assert {folder: circle(graph) for folder, graph in rooms().items() if circle(graph)} == {}


@fast
def test_circles_of_folders_are_found() -> None:
    graph = rooms()["tilewright.planner"]
    assert "cluster" in graph["schedule"]
    graph["cluster"].add("schedule")
    assert circle(graph)


@fast
def test_circles_are_found() -> None:
    """Those that only the type checker walks, and those through a folder's face, included."""
    graph = needed()
    assert "tilewright.planner.cluster.tiling_option" in graph["tilewright.planner.cluster.layer_cycles"]
    assert "tilewright.sim.activity" in graph["tilewright.sim.energy"]
    assert "tilewright.passes" in graph["tilewright.passes.tabulate"]
    graph["tilewright.planner.cluster.tiling_option"].add("tilewright.planner.cluster.layer_cycles")
    assert len(circle(graph)) == 3


@fast
def test_heavy_packages_stay_where_they_belong() -> None:
    assert offences(lambda part, name: part not in HEAVY.get(name.split(".")[0], {part})) == []


@fast
def test_generic_code_names_no_target() -> None:
    assert offences(lambda part, name: part != "targets" and name.startswith("tilewright.targets.")) == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Not even indirectly, nor for the parts that need no model."""
    script = "import sys, tilewright; tilewright.targets.names(); print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY.keys() & {name.split(".")[0] for name in loaded}


@fast
def test_every_folder_says_what_is_in_it() -> None:
    faces = [path for path in ROOT.rglob("__init__.py") if path != ROOT / "__init__.py"]
    assert [str(path) for path in faces if not re.match(r'"""[A-Z`].{20,}', path.read_text())] == []


@fast
def test_the_architecture_page_has_the_same_order() -> None:
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text()
    table = page.split("| folders and modules |")[1].split("\n\n")[0]
    rows = [re.findall(r"`(\w+)(?:/|\.py)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    assert [sorted(row) for row in rows] == [sorted(layer) for layer in LAYERS]
