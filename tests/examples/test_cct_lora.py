"""The transformer that learns with LoRA on the virtual Siracusa, with one layer and half of the device's pictures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from examples import cct_lora

pictures = cct_lora.pictures


def fewer(count: int, seed: int, **camera: float) -> cct_lora.Data:
    return pictures(count // 2 if camera else count, seed, **camera)


def test_other_camera_turns_the_stripes() -> None:
    plain, labels = pictures(8, seed=5)
    again, same = pictures(8, seed=5)
    turned, others = pictures(8, seed=5, askew=180 / cct_lora.CLASSES)
    assert (plain == again).all()
    assert (labels == same).all()
    assert (labels == others).all()
    assert not np.allclose(plain, turned)


@pytest.mark.in_turns(10)
def test_device_learns_the_other_camera(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(cct_lora, "LAYERS", 1)
    monkeypatch.setattr(cct_lora, "pictures", fewer)
    cct_lora.main(tmp_path)
    said = capsys.readouterr().out
    losses = [float(loss) for loss in re.findall(r"mean loss (\S+)", said)]
    assert losses[-1] < 0.7 * losses[0]
    before, after = (float(share) for share in re.findall(r"([\d.]+)% (?:before|after)", said))
    assert before < after
    assert float(re.findall(r"numpy's by (\S+)", said)[0]) < 1e-4
    onnx.checker.check_model(tmp_path / "cct.onnx")
    assert (tmp_path / "c" / "cct.h").is_file()
