"""Imports point down the list of the architecture: a stage never reaches back, and generic code names no target."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
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
    ["ir"],
    ["evaluate"],
    ["frontends"],
    ["passes"],
    ["target"],
    ["targets"],
    ["mapping"],
    ["tiling"],
    ["grid"],
    ["transfers", "costs", "c_structs"],
    ["layers"],
    ["skyline"],
    ["memory", "ordering", "choosing"],
    ["validate"],
    ["allocation"],
    ["plan"],
    ["schedule"],
    ["codegen"],
    ["toolchain"],
    ["sim", "simulate"],
    ["build", "kernel_bench", "soc"],
    ["pipeline"],
    ["compare", "analysis"],
    ["program"],
    ["report"],
    ["command"],
    ["cli_sim"],
    ["cli"],
    ["__main__"],
]
"""From the ground up. A module may import from its own entry and from entries above it in this list."""

HEAVY = {
    "onnx": {"frontends"},
    "google": {"frontends"},
    "ortools": {"memory", "choosing"},
    "typer": {"cli", "cli_sim", "command"},
    "rich": {"report"},
}
"""Packages that only these parts may import."""


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


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


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    for name in imported(path):
        parts = name.split(".")
        if (
            parts[0] != "tilewright"
            or len(parts) < 2
            or (not (ROOT / parts[1]).exists() and not (ROOT / f"{parts[1]}.py").exists())
        ):
            continue
        assert level(parts[1]) <= level(part_of(path)), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_where_they_belong(path: Path) -> None:
    for name in imported(path):
        allowed = HEAVY.get(name.split(".")[0])
        assert allowed is None or part_of(path) in allowed, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_generic_code_names_no_target(path: Path) -> None:
    if part_of(path) == "targets":
        return
    for name in imported(path):
        assert not name.startswith("tilewright.targets."), f"{path.name} imports {name}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Not even indirectly, nor for the parts that need no model."""
    script = "import sys, tilewright; tilewright.targets.names(); print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY.keys() & {name.split(".")[0] for name in loaded}
