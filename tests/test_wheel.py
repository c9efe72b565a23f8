"""The wheel, installed where there is no checkout, compiles a network and runs it."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import onnx
import pytest

from tests.support.models import small
from tilewright.target.toml_file import read_toml
from tilewright.version import VERSION

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""That the package says it is for."""
LONGEST = 600
"""Seconds."""


@pytest.mark.fast
def test_each_extra_names_a_package_once() -> None:
    said = read_toml(ROOT / "pyproject.toml", "project", "")["project"]
    for extra, packages in {"": said["dependencies"], **said["optional-dependencies"]}.items():
        names = [re.match(r"[\w.-]+", package)[0] for package in packages]  # type: ignore[index]
        assert len(names) == len(set(names)), f"{extra}: {sorted(names)}"


def done(words: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    unset = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LONGEST, env=inherited)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    made = done([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", ROOT, "-w", place], place)
    if made.returncode != 0 and "hatchling" in made.stderr:
        pytest.skip("hatchling, which builds the wheel, cannot be had here")
    assert made.returncode == 0, made.stderr
    return next(place.glob("tilewright-*-py3-none-any.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment with the wheel. Packages that it depends on are read where they are; an editable tilewright,
    which a .pth file of its own names, is not among them."""
    place = tmp_path_factory.mktemp("environment")
    assert done([sys.executable, "-m", "venv", place], place).returncode == 0
    found = place / "bin" / "python"
    installed = done([found, "-m", "pip", "install", "-q", "--no-deps", wheel], place)
    assert installed.returncode == 0, installed.stderr
    packages = next((place / "lib").glob("python*/site-packages"))
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return found


@pytest.mark.thorough
def test_a_wheel_has_all_that_the_package_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("tilewright/")}
    listed = subprocess.run(["git", "ls-files", "src/tilewright"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert inside == {name.removeprefix("src/") for name in listed.stdout.splitlines()}


@pytest.mark.thorough
def test_what_a_wheel_says_of_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        said = email.message_from_bytes(archive.read(name))
        scripts = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert said["Name"] == "tilewright"
    assert said["Version"] == VERSION
    assert said["Requires-Python"] == ">=3.10"
    assert "microcontroller" in said["Keywords"]
    assert {f"Programming Language :: Python :: {version}" for version in PYTHONS} < set(said.get_all("Classifier"))
    assert "tilewright = tilewright.__main__:main" in scripts


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["generic", "cortex-m4", "quad"])
def test_an_installed_wheel_compiles_and_runs_a_network(python: Path, tmp_path: Path, target: str) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    where = done([python, "-c", "import tilewright; print(tilewright.__file__)"], tmp_path)
    assert where.stdout.startswith(str(python.parents[1]))
    command = python.with_name("tilewright")
    assert command.is_file()
    ran = done([command, "run", "net.onnx", "--target", target, "--json"], tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = done([command, "--version"], tmp_path)
    assert said.stdout.startswith("tilewright ")
