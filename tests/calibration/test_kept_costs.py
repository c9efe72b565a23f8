"""What was measured on this machine: where it is kept, who uses it, and that the package's own stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Command
from tilewright.calibration import cache_prices, measuring
from tilewright.calibration.measuring import OF_A_BOARD, Calibration, KernelFit
from tilewright.calibration.values import Sample
from tilewright.target.caches import MIB, Cache, Caches
from tilewright.target.kept_costs import kept, kept_file
from tilewright.targets.cpu.target import COSTS, for_processor

RELU = (1.0, 2.0, 3.0, 4.0, 5.0)
FOUND = Calibration((KernelFit("relu", RELU, 0.0, 3, 0.1, 0.2),), OF_A_BOARD, OF_A_BOARD, {2: 0.5, 3: 0.25})

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_command_keeps_them_for_this_machine(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "calibration", lambda target, progress: FOUND)
    packaged = COSTS.read_bytes()
    said = command("calibrate", "cpu", "--json").json
    assert said["output"] == str(kept_file())
    assert said["caches"] == {"2": 0.5, "3": 0.25}
    assert COSTS.read_bytes() == packaged
    here, other = for_processor("native"), for_processor("x86-64-v3")
    assert here.costs.kernels["relu"] == RELU
    assert here.costs.kernels["add"] == other.costs.kernels["add"] != RELU
    assert other.costs.kernels["relu"] != RELU
    assert "relu.8" in other.costs.kernels.keys() - here.costs.kernels.keys(), "of one calibration"
    caches = here.memories[0].caches
    assert caches is not None
    assert {one.level: one.beyond for one in caches.levels if one.level > 1}.items() <= {2: 0.5, 3: 0.25}.items()


def test_a_file_may_be_asked_for(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "calibration", lambda target, progress: FOUND)
    asked = tmp_path / "asked.json"
    assert "0.500 ns behind level 2, 0.250 ns behind level 3" in command("calibrate", "cpu", "-o", asked).out
    assert json.loads(asked.read_text())["kernels"] == {"relu": list(RELU)}
    assert kept() == {}


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"kernels": {"relu": "many"}}', '{"kernels": {}, "caches": {"L2": 1}}']
)
def test_a_damaged_file_is_told_and_not_used(text: str) -> None:
    kept_file().parent.mkdir()
    kept_file().write_text(text)
    with pytest.warns(UserWarning, match="calibrate cpu` measures again"):
        assert for_processor("native").costs.kernels == for_processor("x86-64-v3").costs.kernels


def test_caches_are_measured_with_the_kernel_that_networks_use() -> None:
    stem = measuring.best_case(for_processor("native"), cache_prices.layer(cache_prices.PIXEL * 64)).kernel.stem
    assert stem == "depthwise_channels"


def test_prices_are_what_a_byte_takes_longer() -> None:
    """Of layers as large as what is behind a cache; a level that is hardly larger than the one before it has none."""

    def time(sample: Sample) -> float:
        _, (x, *_) = sample
        assert x is not None
        return 2 * x.nbytes * (1.0 if x.nbytes < MIB else 1.5 if x.nbytes < 16 * MIB else 1.25)

    whole = Caches((Cache(1, 32 * 1024, 0.0), Cache(2, MIB, 0.1), Cache(3, 32 * MIB, 0.1)))
    assert cache_prices.cache_prices(whole, time) == pytest.approx({2: 0.5, 3: 0.0}, abs=0.02)
    near = Caches((Cache(1, 32 * 1024, 0.0), Cache(2, MIB, 0.1), Cache(3, 4 * MIB, 0.1)))
    assert cache_prices.sizes(near).keys() == {3}
    assert cache_prices.sizes(Caches((Cache(2, 200 * MIB, 0.1),))) == {}
