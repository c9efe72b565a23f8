"""ITA's operators: tile by tile as on the whole, and as the device computes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ita.layers import random_case
from tests.support.tiled import evaluate_tiled
from tilewright.errors import Refusal
from tilewright.ir.types import TensorType, type_of
from tilewright.target.params import params_of
from tilewright.targets.ita.attention import ItaAttend, ItaHead
from tilewright.targets.ita.layout import as_matrix, as_tiles, packed_bias, unpacked_bias
from tilewright.targets.ita.linear import ItaFeedForward, ItaLinear
from tilewright.targets.ita.tiling import ItaRows, ItaTiles

RNG = np.random.default_rng(4)


def of_kind(name: str):  # type: ignore[no-untyped-def]
    """A random layer of a kind, whose model is that of the device's tests."""
    return next(case for case in map(random_case, range(100)) if case.name == name)


def weights(matrix: np.ndarray) -> np.ndarray:
    return as_tiles(np.ascontiguousarray(matrix.T))


def bias(values: np.ndarray) -> np.ndarray:
    return packed_bias(values).reshape(-1, 192)


def test_linear() -> None:
    case = of_kind("linear")
    op = ItaLinear(case.layer.scales[0], case.layer.activation)
    arrays = [as_tiles(case.operands["x"]), weights(case.operands["w"]), bias(case.operands["b"])]
    assert np.array_equal(as_matrix(op.numpy(*arrays)), case.results["y"])
    (tiled,) = evaluate_tiled(op, arrays, {"r": 1, "c": 2})
    assert np.array_equal(as_matrix(tiled), case.results["y"])
    types = {name: type_of(array) for name, array in zip(("X", "W", "bias"), arrays, strict=True)}
    assert op.macs({name: kind.shape for name, kind in types.items()}) == 64**3 * len(case.jobs)
    words = case.words[0][6:14] + case.words[0][15:]
    assert [word & 0xFFFF_FFFF for word in params_of(op, types)["layer"]] == words


def test_feed_forward() -> None:
    case = of_kind("feed-forward")
    op = ItaFeedForward(case.layer.scales[6], case.layer.activation, case.layer.scales[7])
    o = case.operands
    arrays = [as_tiles(o["x"]), weights(o["w1"]), bias(o["b1"]), weights(o["w2"]), bias(o["b2"])]
    assert np.array_equal(as_matrix(op.numpy(*arrays)), case.results["y"])
    (tiled,) = evaluate_tiled(op, arrays, {"r": 1})
    assert np.array_equal(as_matrix(tiled), case.results["y"])


def test_attention_alone() -> None:
    case = of_kind("single attention")
    op = ItaAttend(*case.layer.scales[3:5], case.softmax, case.operands["q"].shape[1] // 64)
    o = case.operands
    arrays = [as_tiles(o["q"]), as_tiles(o["k"]), weights(o["v"])]
    assert np.array_equal(as_matrix(op.numpy(*arrays)), case.results["o"])
    (tiled,) = evaluate_tiled(op, arrays, {"s": 1})
    assert np.array_equal(as_matrix(tiled), case.results["o"])
    assert op.macs({name: array.shape for name, array in zip("QKV", arrays, strict=True)}) == 64**3 * len(case.jobs)


def test_a_head() -> None:
    case = of_kind("attention")
    op = ItaHead(tuple(case.layer.scales), case.softmax)
    o = case.operands
    arrays = [as_tiles(o["x"]), as_tiles(o["y"]), *(weights(o[name]) for name in ("wq", "wk", "wv", "wo"))]
    arrays += [bias(o[name]) for name in ("bq", "bk", "bv", "bo")]
    assert np.array_equal(as_matrix(op.numpy(*arrays)), case.results["out"])
    types = {name: type_of(array) for name, array in zip(op.operands, arrays, strict=True)}
    assert op.infer(types) == (type_of(arrays[0]),)
    assert op.macs({name: kind.shape for name, kind in types.items()}) == 64**3 * len(case.jobs)


@pytest.mark.parametrize("shape", [(64, 64), (100, 70), (3, 130, 5), (1, 2, 64, 190)])
def test_tiles_and_back(shape: tuple[int, ...]) -> None:
    x = RNG.integers(-128, 128, shape).astype(np.int8)
    (tiles,) = evaluate_tiled(ItaTiles(), [x], {"r": 1, "c": 2, "d0": 1})
    assert np.array_equal(tiles, ItaTiles().numpy(x))
    assert ItaTiles().infer({"X": type_of(x)}) == (type_of(tiles),)
    rows = ItaRows(*shape[-2:])
    assert rows.infer({"X": type_of(tiles)}) == (type_of(x),)
    assert np.array_equal(rows.numpy(tiles), x)
    assert np.array_equal(evaluate_tiled(rows, [tiles], {"r": 1, "c": 1})[0], x)


def test_bytes_without_a_sign() -> None:
    x = np.array([[0, 127, 128, 255]], np.uint8)
    tiles = ItaTiles(flips=True).numpy(x)
    assert tiles[0, 0, 0, :5].tolist() == [-128, -1, 0, 127, 0]
    assert np.array_equal(ItaRows(1, 4, flips=True).numpy(tiles), x)
    with pytest.raises(Refusal, match="matrices of uint8 are expected"):
        ItaTiles(flips=True).check({"X": TensorType("int8", (4, 4))})


def test_biases_of_24_bits() -> None:
    values = np.array([0, 1, -1, 2**23 - 1, -(2**23)] + [7] * 59)
    assert np.array_equal(unpacked_bias(packed_bias(values)), values)


def test_operands_that_do_not_fit() -> None:
    tiles, rows = TensorType("int8", (2, 3, 64, 64)), TensorType("int8", (128, 192))
    with pytest.raises(Refusal, match="in tiles of 64 x 64 is expected"):
        ItaLinear().check({"X": rows, "W": tiles})
    with pytest.raises(Refusal, match="rows of X and W are 3, 2 tiles"):
        ItaLinear().check({"X": tiles, "W": TensorType("int8", (3, 2, 64, 64))})
    with pytest.raises(Refusal, match=r"bias is .*, 2 times 192 bytes are expected"):
        ItaLinear().check({"X": tiles, "W": tiles, "bias": TensorType("int32", (128,))})
