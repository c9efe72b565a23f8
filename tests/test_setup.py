"""`scripts/setup` gives an environment without pip one, and has uv install from the registry that pip is told of. What
tests need besides is asked of apt; without it, its tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / ".ci" / "tools"
SETUP = Path(__file__).parents[1] / "scripts" / "setup"
PYTHON = """\
#!/bin/sh
echo "python $*" >>log
case "$*" in
  *--version*) [ -f has_pip ] ;;
  *ensurepip*) touch has_pip ;;
  *"config get"*) exit 1 ;;
esac
"""
SUDO = """\
#!/bin/sh
shift
exec "$@"
"""
APT = """\
#!/bin/sh
case "$FAILING: $*" in
  without*verilator) /bin/ln -s /bin/sh "$FOLDER/verilator" ;;
  without*update) ;;
  *) exit 100 ;;
esac
"""
UV = """\
#!/bin/sh
echo "uv from ${UV_DEFAULT_INDEX-anywhere}: $*" >>log
"""


def installed(folder: Path, **variables: str) -> list[str]:
    """What is run in an environment whose programs only write down that they were called."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    for name, text in (("python", PYTHON), ("uv", UV)):
        (folder / ".venv" / "bin" / name).write_text(text)
        (folder / ".venv" / "bin" / name).chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    command = ["bash", "-euo", "pipefail", "-c", f"source '{SETUP}' '[test]'"]
    subprocess.run(command, cwd=folder, env=own | variables, check=True, capture_output=True)
    assert (folder / ".venv" / "installed[test]").is_file()
    return (folder / "log").read_text().splitlines()


def test_an_environment_without_pip_gets_it(tmp_path: Path) -> None:
    assert "python -m ensurepip" in installed(tmp_path)
    assert (tmp_path / "has_pip").is_file()


def test_the_registry_is_pips(tmp_path: Path) -> None:
    (tmp_path / "has_pip").touch()
    said = installed(tmp_path, PIP_INDEX_URL="https://registry.example/simple")
    assert said[-1].startswith("uv from https://registry.example/simple: pip install")


def test_uv_knows_its_own_without_one(tmp_path: Path) -> None:
    (tmp_path / "has_pip").touch()
    assert installed(tmp_path)[-1] == "uv from anywhere: pip install -q --python .venv/bin/python --editable .[test]"


@pytest.mark.parametrize("apt", ["missing", "failing", "without one package"])
def test_tools_that_cannot_be_installed_are_named(tmp_path: Path, apt: str) -> None:
    """No package manager, one whose mirrors do not answer, or one that lacks a package: nothing fails."""
    for name in ("bash", "env", "timeout", "id", "cat"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    scripts = {"sudo": SUDO, "find": "#!/bin/sh\n"} | ({} if apt == "missing" else {"apt-get": APT})
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    own = {"PATH": str(tmp_path), "FAILING": apt, "FOLDER": str(tmp_path)}
    done = subprocess.run(["bash", str(TOOLS)], env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    first, *others = done.stdout.splitlines()
    assert first.startswith("apt-get install chromium qemu-system-arm ")
    assert others[-1].startswith("could not be installed: ")
    assert ("verilator" in others[-1]) == (apt != "without one package")
    assert "chromium" in others[-1]
