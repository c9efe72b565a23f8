from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.quantiser.networks import classifier, images
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.quantiser.samples.samples import Samples, samples_of

GRAPH = classifier()


def all_of(samples: Samples) -> Array:
    return np.concatenate([feeds["x"] for _, feeds in samples.every()])


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_gives_what_it_holds(tmp_path: Path, compressed: bool) -> None:
    data = images(7)
    (np.savez_compressed if compressed else np.savez)(tmp_path / "s.npz", x=data)
    np.testing.assert_array_equal(all_of(samples_of(GRAPH, tmp_path / "s.npz")), data)


def test_a_file_in_fortran_order_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.asfortranarray(images(4)))
    np.testing.assert_array_equal(all_of(samples_of(GRAPH, tmp_path / "s.npz")), images(4))


def test_parts_of_a_file_are_together_the_whole(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=images(7))
    samples = samples_of(GRAPH, tmp_path / "s.npz")
    found = {number: feeds["x"] for first in range(3) for number, feeds in samples.every(first, 3)}
    np.testing.assert_array_equal(np.concatenate([found[number] for number in range(7)]), images(7))


@pytest.mark.parametrize("given", [images(3), [images(3)], {"x": images(3)}, images(3)[:, None], {"other": images(3)}])
def test_arrays_with_or_without_names(given: Any) -> None:
    assert samples_of(GRAPH, given).count == 3


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (images(3)[:, :2], "have shape 3x2x8x8, the network needs Nx1x3x8x8 or Nx3x8x8"),
        (images(0), "there are 0 of them"),
        ([], "there are none"),
        (images(3).astype("U4"), "not numbers"),
        ({"a": images(3), "b": images(3)}, "2 arrays (a, b) for 1 inputs (x)"),
        ({"x": images(3), "labels": np.arange(3)}, "samples 'labels': the network has no such input; it has x"),
        (np.float32(1), "have shape scalar"),
    ],
)
def test_wrong_samples_are_refused(given: Any, text: str) -> None:
    with pytest.raises(CompileError) as error:
        samples_of(GRAPH, given)
    assert text in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_named_with_its_sample(value: float) -> None:
    data = images(5)
    data[3, 1, 2, 2] = value
    with pytest.raises(CompileError, match=rf"sample 3, input 'x': 1 of 192 values are not finite, first {value}"):
        all_of(samples_of(GRAPH, data))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "s.npz").write_bytes(b"no archive")
    with pytest.raises(CompileError, match=r"is not an \.npz file of plain arrays"):
        samples_of(GRAPH, tmp_path / "s.npz")
    with pytest.raises(CompileError, match="cannot be read: No such file"):
        samples_of(GRAPH, tmp_path / "none.npz")


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.array([{"a": 1}, None], object))
    with pytest.raises(CompileError, match="holds Python objects"):
        samples_of(GRAPH, tmp_path / "s.npz")
