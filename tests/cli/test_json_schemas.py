"""What commands print with `--json` is described by schemas with a version, and one name stands for one figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.docs.json_page import FOLDER, schemas
from tests.support.command import Command
from tests.support.models import small
from tilewright.cli import process

SOURCES = Path(process.__file__).parent


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.onnx"
    onnx.save(small(), path)
    return path


@pytest.mark.fast
def test_every_object_that_is_printed_has_a_schema() -> None:
    printed = {
        kind for path in SOURCES.glob("*.py") for kind in re.findall(r'print_json\(\s*"([a-z-]+)"', path.read_text())
    }
    assert printed == set(schemas())
    calls = sum(len(re.findall(r"print_json\(", path.read_text())) for path in SOURCES.glob("*.py"))
    named = sum(len(re.findall(r'print_json\(\s*"', path.read_text())) for path in SOURCES.glob("*.py"))
    assert calls == named + 1, "all but the definition name what they print"


@pytest.mark.fast
@pytest.mark.parametrize("kind", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_schemas_have_a_version_and_describe_every_key(kind: str) -> None:
    schema = schemas()[kind]
    assert re.fullmatch(rf"tilewright-{kind}/[1-9]\d*", schema["properties"]["schema"]["const"])
    assert [key for key, value in _keys(schema) if not value.get("description")] == []


def _keys(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from schema.get("properties", {}).items()
    inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
    for one in (*schema.get("properties", {}).values(), *inner):
        if isinstance(one, Mapping):
            yield from _keys(one)


WORDS = {
    "analyze": ("analyze", "MODEL"),
    "explained": ("analyze", "MODEL", "--target", "siracusa", "--explain"),
    "stage": ("compile", "MODEL", "--emit", "graph"),
    "stage-onnx": ("compile", "MODEL", "--onnx", "OUT.onnx"),
    "compile": ("compile", "MODEL", "-o", "OUT"),
    "export-onnx": ("export", "MODEL", "-o", "OUT.onnx"),
    "export-project": ("export", "MODEL", "--as", "cmake", "-o", "OUT"),
    "ranking": ("analyze", "MODEL", "--target", "auto", "--board", "nucleo-l4r5zi"),
    "ops": ("ops",),
    "targets": ("targets",),
    "error": ("analyze", "MODEL", "--target", "nothing"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_objects_are_as_their_schemas_say(
    command: Command, network: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    given = [word.replace("MODEL", str(network)).replace("OUT", str(tmp_path / "out")) for word in words]
    assert command(*given, "--json").json["schema"].startswith("tilewright-")


def test_a_figure_has_one_meaning(command: Command, network: Path) -> None:
    """Whatever `analyze` and `run` both print of memory is the same number."""
    board = ("--board", "nucleo-l4r5zi", "--json")
    planned, ran = (command(what, network, *board).json for what in ("analyze", "run"))
    sizes = {key for key in planned if key.endswith("_bytes")} & set(ran)
    assert {"planned_ram_bytes", "arena_bytes", "io_bytes", "constant_bytes"} <= sizes
    assert {key: planned[key] for key in sizes} == {key: ran[key] for key in sizes}
    assert planned["memories"] == ran["memories"]
    assert ran["interface"] == {key: planned[key] for key in ("inputs", "outputs")}
    assert planned["planned_ram_bytes"] <= ran["measured_ram_bytes"] <= ran["memories"]["RAM"]["reserved_bytes"]
    assert planned["constant_bytes"] < ran["measured_flash_bytes"]


def test_the_text_names_what_its_figures_are(command: Command, network: Path) -> None:
    said = command("run", network, "--board", "nucleo-l4r5zi").out
    assert re.search(r"^ RAM +\d.* planned = \d.* arena", said, flags=re.MULTILINE)
    assert re.search(r"^ fits +reserved: RAM", said, flags=re.MULTILINE)
    assert re.search(r"^ +measured: RAM", said, flags=re.MULTILINE)
