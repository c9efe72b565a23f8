"""Sizes of memories that the user gives, by name or by the short forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.planner.networks import quantised_convolutions
from tests.planner.planning import prepared
from tests.support.command import Command
from tests.support.models import model, node
from tests.support.quantiser import quantise
from tilewright.planner.cluster.capacity import constant_sizes
from tilewright.planner.cluster.plan import Plan
from tilewright.target.settings import Settings


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("--l1 64000", "--memory l1=64000"),
        ("--l1 64000", "--memory L1=64000"),
        ("--l1 64000 --l2 200000", "--memory l2=200000 --memory l1=64000"),
    ],
)
def test_short_forms_mean_the_same(command: Command, tmp_path: Path, short: str, long: str) -> None:
    onnx.save(quantised_convolutions(), tmp_path / "net.onnx")
    for folder, words in {"short": short, "long": long}.items():
        wanted = ["--target", "siracusa", "--name", "net", "-o", tmp_path / folder, *words.split()]
        assert command("compile", tmp_path / "net.onnx", *wanted).code == 0
    assert "network.c" in files(tmp_path / "long")
    assert files(tmp_path / "short") == files(tmp_path / "long")


@pytest.mark.in_turns(3)
def test_sizes_by_name_in_python() -> None:
    given = Settings(l1=6_000), Settings(memories=(("l1", 6_000),)), Settings()
    short, long, neither = (
        tw.compile(quantised_convolutions(), target="siracusa", settings=settings).files for settings in given
    )
    assert short == long != neither
    with pytest.raises(tw.CompileError, match="--memory foo=1: is not a memory of siracusa"):
        tw.compile(quantised_convolutions(), target="siracusa", settings=Settings(memories=(("foo", 1),)))


def weights(plan: Plan) -> int:
    """Bytes of weights in the weight memory."""
    names = [name for name, home in plan.homes.items() if str(home) == "WMEM constant"]
    (wmem,) = plan.memories.beside
    return constant_sizes(plan.mapped.graph, names, wmem)


@pytest.mark.in_turns(5)
def test_the_weight_memory_can_be_made_smaller() -> None:
    """600,000 bytes are 75,712 beside those for the program: one matrix of three."""
    random = np.random.default_rng(0)
    nodes = [node("MatMul", f"x{i} w{i}", f"x{i + 1}") for i in range(3)]
    constants = {f"w{i}": random.normal(0, 0.5, (256, 256)).astype(np.float32) for i in range(3)}
    made = model(nodes, {"x0": (16, 256)}, ["x3"], constants)
    network = prepared(quantise(made, {"x0": random.normal(0, 1, (16, 256)).astype(np.float32)}))
    assert weights(network.plan(Settings())) == 3 * 256 * 256
    assert weights(network.plan(Settings(memories=(("wmem", 600_000),)))) == 256 * 256
