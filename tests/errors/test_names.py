"""Names in a model are data: none of them becomes code, markup, a path or terminal control."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node

NAMES = [
    '"; system("true"); "', "*/ int main(void) { return 1; } /*", "../../../tmp/evil", "line\nbreak\r\n",
    "\x1b[31mred\x1b[0m",
    "int", "main", "arena", "params", "a b", "%s%n", "é-ü", "\\", "trailing\\", "??/", "0", "x" * 300,
    "[bold red]markup[/]",
    "#define x", "//", "network_run",
]  # fmt: skip


def named(name: str) -> onnx.ModelProto:
    nodes = [node("Add", "x w", "a", name=name), node("Relu", "a", "y", name=name)]
    proto = model(nodes, {"x": (3,)}, ["y"], {"w": np.ones(3, np.float32)})
    proto.graph.name = name
    for inner, (inputs, outputs) in zip(
        proto.graph.node, [(["in", "weights"], ["inner"]), (["inner"], ["out"])], strict=True
    ):
        del inner.input[:], inner.output[:]
        inner.input.extend(f"{word}{name}" for word in inputs)
        inner.output.extend(f"{word}{name}" for word in outputs)
    proto.graph.input[0].name, proto.graph.output[0].name = f"in{name}", f"out{name}"
    proto.graph.initializer[0].name = f"weights{name}"
    return proto


def test_every_name_compiles_as_it_is() -> None:
    """One program per name would take long: the names are those of the layers of one network."""
    nodes = [node("Relu" if i else "Abs", "x", "y", name=name) for i, name in enumerate(NAMES)]
    tensors = ["x", *(f"{name}" for name in NAMES)]
    for number, inner in enumerate(nodes):
        inner.input[0], inner.output[0] = tensors[number], tensors[number + 1]
    proto = model(nodes, {"x": (3,)}, [])
    for name in NAMES:
        proto.graph.output.append(onnx.helper.make_tensor_value_info(name, 1, [3]))
    check = tw.compile(proto, name=NAMES[0]).check([np.asarray([-1, 0, 2], np.float32)])
    assert check.agrees
    assert [found.name for found in check.outputs] == NAMES


@pytest.mark.fast
@pytest.mark.parametrize("name", NAMES)
def test_no_name_reaches_the_c(name: str) -> None:
    files = tw.compile(named(name), name=name).files
    for path, text in files.items():
        assert text.isascii()
        assert ".." not in path
        if path.startswith("network") and not name.isidentifier() and len(name) > 3:
            assert name not in _code(text)


def test_no_name_reaches_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    nodes = [node("Nonsense", "x", "y", name="\x1b[31m[bold]a\nb")]
    path.write_bytes(model(nodes, {"x": (3,)}, ["y"]).SerializeToString())
    ran = Command(capsys)("analyze", path)
    assert "node '\\x1b[31m[bold]a\\nb' (Nonsense)" in ran.err
    assert "\x1b" not in ran.err


def _code(text: str) -> str:
    """C without its comments; names appear in those, made harmless."""
    parts = text.split("/*")
    return parts[0] + "".join(part.split("*/", 1)[1] for part in parts[1:])
