"""`analyze` says which layers take much of the time in kernels that no one wrote for the target."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import tilewright as tw
from tests.support.command import Command

NOTE = "'slow' takes {share} of the predicted time in a portable kernel (cluster.sin)"


def model(slow: int, quick: int = 0) -> onnx.ModelProto:
    """Sines of so many numbers, which few targets have a kernel for, and exponentials of others, which most have."""
    kinds = {"Sin": ("slow", slow), "Exp": ("quick", quick)}
    found = [(kind, name, size) for kind, (name, size) in kinds.items() if size]
    nodes = [helper.make_node(kind, [f"x {name}"], [f"y {name}"], name) for kind, name, _ in found]
    ends = [[helper.make_tensor_value_info(f"{end} {name}", TensorProto.FLOAT, (size,)) for _, name, size in found]
            for end in "xy"]  # fmt: skip
    return helper.make_model(helper.make_graph(nodes, "g", *ends), ir_version=8)


def test_a_portable_kernel_that_takes_much_is_noted_with_its_layer_and_share() -> None:
    found = tw.analyze(model(5000, 5000), target="siracusa")
    (note,) = [note for note in found.notes if "portable" in note]
    share = note.split(" takes ")[1].split(" ")[0]
    assert note == NOTE.format(share=share)
    assert 50 < int(share.rstrip("%")) < 100
    assert note in found.as_dict()["notes"]


@pytest.mark.parametrize(("given", "target"), [((0, 5000), "siracusa"), ((5000,), "generic")])
def test_nothing_is_noted_where_kernels_are_the_targets_own(given: tuple[int, ...], target: str) -> None:
    assert not [note for note in tw.analyze(model(*given), target=target).notes if "portable" in note]


def test_a_portable_kernel_that_takes_little_is_not_noted() -> None:
    assert not [note for note in tw.analyze(model(16, 100_000), target="siracusa").notes if "portable" in note]


def test_both_forms_of_the_command_have_the_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, command = tmp_path / "sine.onnx", Command(capsys)
    onnx.save(model(5000), path)
    text = command("analyze", path, "--target", "siracusa")
    notes = command("analyze", path, "--target", "siracusa", "--json").json["notes"]
    assert any("portable kernel (cluster.sin)" in note for note in notes)
    assert "in a portable kernel" in " ".join((text.out + text.err).split())
