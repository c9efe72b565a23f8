"""Options that do not go together, or have values that mean nothing: each command line has one clear error."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import small

pytestmark = pytest.mark.fast

MODEL = "MODEL"
"""Stands for a network."""

LINES = (
    ("calibrate siracusa --accelerator unit --kernel conv", "--kernel conv", "is for the target's own kernels"),
    ("compile MODEL --emit soup", "--emit soup", "there is no such stage"),
    ("compile MODEL --onnx drawn.onnx --stage soup", "--stage soup", "there is no such stage"),
    ("export MODEL --as cmake --int4", "--int4", "is for --as onnx"),
    ("export MODEL --target rv32", "--as onnx", "has no target, board or other compile options"),
    ("export MODEL -o MODEL", "MODEL", "is the model itself"),
    ("generate model Once --greedy --temperature 0.5", "--greedy", "has no logits that --temperature"),
    ("profile MODEL", "profile", "--target or --board is missing"),
    ("report MODEL", "MODEL", "is a model, and --target is missing"),
    ("report study.toml", "study.toml", "describes a study, and holds no results"),
    ("report .", ".", "is no study: there is no results.json in it"),
    ("run MODEL --waves waves.vcd", "--waves waves.vcd", "no device in Verilog has run"),
    ("run MODEL --target quad --l1 64q", "command line", "Invalid value"),
    ("run MODEL --target generic --elf program.elf", "--elf", "target generic runs on this machine"),
    ("run MODEL --shape x=a,b", "--shape x=a,b", "is not a list of whole numbers"),
    ("run MODEL --bind x=many", "--bind x=many", "is neither numbers nor a .npy file"),
    ("run MODEL --bind x=text.npy", "--bind x=text.npy", "is not a .npy file: "),
    ("run MODEL --dim n=5..2", "--dim n=5..2", "is no range"),
    ("run MODEL --dim n=1..x", "--dim n=x", "the size is not a whole number"),
    ("run MODEL --memory l3=many", "--memory l3=many", "the size is not a whole number"),
    ("run MODEL --max-trips -4", "--max-trips -4", "is not 0 to 2147483647"),
    ("run MODEL --target quad --isa rv32imc", "--isa rv32imc", "target quad does not have this o"),
    ("run MODEL --target cortex-m4 --emulator soup", "--emulator soup", "is unknown"),
    ("run MODEL --target rv32 --emulator qemu", "--emulator qemu", "rv32 runs on the virtual SoC"),
    ("run MODEL --target cortex-m55 --emulator unicorn", "--emulator unicorn", "does not emulate cortex-m55"),
    ("run MODEL --target quad --gpu soup", "--gpu soup", ""),
    ("train MODEL --optimizer sgd:0.1 --data d.npz --labels l.npz", "--loss", "a network needs a loss"),
    ("train MODEL --loss mse --data d.npz --labels l.npz", "--optimizer", "is missing"),
    (
        "train MODEL --loss mse --optimizer sgd:0.1 --expect e.npz --data d.npz --labels l.npz",
        "--expect e.npz", "is for training graphs: a network's losses are compared with numpy's",
    ),
    ("train MODEL --loss mse --optimizer sgd:0.1", "--data", "is missing: there is nothing to learn from"),
    ("chat model --target siracusa", "target siracusa", "has no sessions: its programs read one text"),
    ("quantise MODEL --data d.npz --max-cycles 5 --max-bytes 7", "--max-cycles 5 and --max-bytes 7", "cannot both be"),
    ("quantise MODEL --data d.npz --front f.svg", "--front f.svg", "nothing is plotted without a search"),
)  # fmt: skip
"""A command line, the place that its error names, and how the error begins."""


@pytest.mark.parametrize(("line", "where", "what"), LINES, ids=[line for line, _, _ in LINES])
def test_each_has_one_error(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, where: str, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(small(), "model.onnx")
    for name in ("text.npy", "study.toml"):
        Path(name).write_text("")
    before = sorted(tmp_path.iterdir())
    words = [word.replace(MODEL, "model.onnx") for word in line.split()]
    ran = command(*words, "--json")
    assert ran.code == 2, ran.out + ran.err
    error = ran.json["error"]
    assert (error["where"], error["what"][: len(what)]) == (where.replace(MODEL, "model.onnx"), what)
    assert error["hint"]
    assert sorted(tmp_path.iterdir()) == before, "nothing is written"
