"""Imports point down the list of the architecture: a stage never reaches back, and generic code names no target."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import tilewright

pytestmark = pytest.mark.fast

ROOT = Path(tilewright.__file__).parent

LAYERS = [
    ["errors", "affine"],
    ["types"],
    ["inputs"],
    ["exact", "requant", "onnx_node"],
    ["op"],
    ["ops"],
    ["tiling"],
    ["grid"],
    ["ir"],
    ["evaluate"],
    ["frontends"],
    ["passes"],
    ["target"],
    ["targets"],
    ["mapping"],
    ["transfers", "costs", "c_structs", "variants"],
    ["layers", "layer_times"],
    ["skyline"],
    ["memory", "ordering", "choosing"],
    ["validate"],
    ["allocation"],
    ["rooms"],
    ["ownership", "candidates", "staging", "overlap"],
    ["missing", "layout"],
    ["deciding"],
    ["relief"],
    ["plan"],
    ["interpret", "validate_plan"],
    ["schedule"],
    ["explaining"],
    ["codegen"],
    ["includes"],
    ["object_cache"],
    ["toolchain"],
    ["sim", "simulate"],
    ["near_code"],
    ["build", "kernel_bench", "soc"],
    ["pipeline"],
    ["compare", "analysis", "profiling"],
    ["calibration"],
    ["program"],
    ["report"],
    ["command"],
    ["cli_options"],
    ["cli_sim", "cli_calibrate", "cli_profile"],
    ["cli"],
    ["__main__"],
]
"""From the ground up. A module may import from its own entry and from entries above it in this list."""

HEAVY = {
    "onnx": {"frontends"},
    "google": {"frontends"},
    "ortools": {"memory", "choosing"},
    "typer": {"cli", "cli_calibrate", "cli_options", "cli_profile", "cli_sim", "command"},
    "rich": {"report"},
}
"""Packages that only these parts may import."""


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in _walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path.name} imports by position: name the module"
            assert node.level == 0, f"{path.name} imports by position: name the module"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only the type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _walk(node)


def level(part: str) -> int:
    return next(i for i, parts in enumerate(LAYERS) if part in parts)


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
        for name in sorted(imported(path))
        if is_wrong(part_of(path), name)
    ]


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in modules()} <= {part for parts in LAYERS for part in parts}


def test_imports_point_down() -> None:
    assert offences(lambda part, name: is_ours(name) and level(name.split(".")[1]) > level(part)) == []


def test_heavy_packages_stay_where_they_belong() -> None:
    assert offences(lambda part, name: part not in HEAVY.get(name.split(".")[0], {part})) == []


def test_generic_code_names_no_target() -> None:
    assert offences(lambda part, name: part != "targets" and name.startswith("tilewright.targets.")) == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Not even indirectly, nor for the parts that need no model."""
    script = "import sys, tilewright; tilewright.targets.names(); print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY.keys() & {name.split(".")[0] for name in loaded}
