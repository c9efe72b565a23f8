"""Constants in the order in which a device reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.accelerator.folders import ARRAY, changed
from tests.accelerator.test_networks import chain, engines, program
from tilewright.accelerator.folder import read_folder
from tilewright.accelerator.packing import with_packed
from tilewright.bringup.check import check_folder
from tilewright.errors import CompileError
from tilewright.ops.conv import Conv

ORDERS = ("f r s c", "c f s r", "f/4 c r s f:4", "f/3 c/2 r s c:2 f:3", "c:8 f:2 c/8 f/2 s r", "f c/4 r s (c:4)*16")


@pytest.mark.fast
@pytest.mark.parametrize("order", ORDERS)
def test_what_is_packed_means_the_same(order: str) -> None:
    random, op = np.random.default_rng(0), Conv(channels_last=True)
    x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 5, 6, 7), (9, 3, 2, 7)))
    made, row = with_packed(op, {"X": x.shape, "W": w.shape}, "W", w, order)
    assert row.ndim == 1
    np.testing.assert_array_equal(made.numpy(x, row), op.numpy(x, w))


@pytest.mark.fast
def test_blocks_lie_side_by_side() -> None:
    filters = np.arange(1, 6, dtype=np.int8).reshape(5, 1, 1, 1) * np.array([1, 10], np.int8)
    shapes = {"X": (1, 4, 4, 2), "W": filters.shape}
    _, row = with_packed(Conv(channels_last=True), shapes, "W", filters, "f/4 c r s f:4")
    assert row.tolist() == [1, 2, 3, 4, 10, 20, 30, 40, 5, 0, 0, 0, 50, 0, 0, 0]


def blocked_array(place: Path) -> str:
    """The array, with sixteen filters side by side for every tap and channel."""
    words = changed(
        ARRAY, place, "accelerator.py",
        ('    multiples={"f": 16},\n', '    packings={"W": Packing("f/16 r s c f:16")},\n'),
        ("Pattern, S", "Packing, Pattern, S"),
    )  # fmt: skip
    load = 'w = self.load(r.w, (r.filters, r.kernel_h, r.kernel_w, r.channels), "int8").astype(np.int32) - r.w_zero'
    own = (
        'w = self.load(r.w, (-(-r.filters // 16), r.kernel_h, r.kernel_w, r.channels, 16), "int8").astype(np.int32)\n'
        "        w = w.transpose(0, 4, 1, 2, 3).reshape(-1, *w.shape[1:4])[: r.filters] - r.w_zero"
    )
    model = Path(words) / "device.py"
    model.write_text(model.read_text().replace(load, own))
    return words


@pytest.mark.in_turns(6)
def test_a_device_with_packed_weights(tmp_path: Path) -> None:
    words = blocked_array(tmp_path)
    assert [found.jobs for found in check_folder(words, jobs=6)] == [6, 6]
    for target in ("quad", "rv32"):
        made = program(chain(), target, words)
        assert "ws_array" in engines(made)
        assert made.check().agrees


@pytest.mark.fast
@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("f r s", "loop 'c' must be there once"),
        ("f r s c c", "loop 'c' must be there once"),
        ("f/16 r s c", "loop 'f' must be there once"),
        ("f/16 r s c f:8", "loop 'f' must be there once"),
        ("f r s c y", "the operand has no loop 'y'"),
        ("f/x r s c f:x", "'f/x' has no block of at least 2"),
    ],
)
def test_orders_that_are_none(tmp_path: Path, order: str, said: str) -> None:
    words = changed(
        ARRAY, tmp_path, "accelerator.py",
        ('    multiples={"f": 16},\n', f'    packings={{"W": Packing("{order}")}},\n'),
        ("Pattern, S", "Packing, Pattern, S"),
    )  # fmt: skip
    with pytest.raises(CompileError, match=said):
        read_folder(words)
