"""The page about sweeps: its study is one, and it names every axis."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tilewright.exploring.axes import AXES
from tilewright.exploring.reading import read_study

PAGE = ROOT / "docs" / "explore.md"


@pytest.mark.fast
def test_the_study_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for name in ("kws.onnx", "vww.tflite", "in.npz", "out.npz", "float.onnx", "samples.npz"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "study.toml").write_text(text)
    study = read_study(tmp_path / "study.toml")
    assert len(study.points) == 3 * 2 * 3 * 2 + 3 * 2 * 2


@pytest.mark.fast
def test_every_axis_is_named() -> None:
    page = PAGE.read_text()
    assert [axis for axis in AXES if f"`{axis}`" not in page] == []
