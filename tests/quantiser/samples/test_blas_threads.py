"""Processes that share samples do not start threads of their own for matrix products."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import pytest

from tests.quantiser.networks import classifier, images
from tilewright.quantiser.samples.blas_threads import SETTERS, _libraries, one_thread
from tilewright.quantiser.samples.samples import Feeds, samples_of
from tilewright.quantiser.samples.stream import over_samples


def threads() -> list[int]:
    """Of every OpenBLAS that is loaded."""
    counters = [name.replace("_set_", "_get_") for name in SETTERS]
    libraries = [ctypes.CDLL(path) for path in _libraries()]
    return [getattr(library, name)() for library in libraries for name in counters if hasattr(library, name)]


@dataclass
class Seen:
    counts: set[int] = field(default_factory=set)

    def merge(self, other: Seen) -> None:
        self.counts |= other.counts


@pytest.mark.in_turns(3)
def test_each_process_has_one_thread() -> None:
    before = threads()
    if not before:
        pytest.skip("numpy has another library here")

    def see(found: Seen, number: int, feeds: Feeds) -> None:
        found.counts.update(threads())

    samples = samples_of(classifier(), images(32))
    assert over_samples(samples, Seen, see, "counting", processes=2).counts == {1}
    assert threads() == before


def test_threads_are_as_they_were_afterwards() -> None:
    before = threads()
    with one_thread():
        assert set(threads()) <= {1}
    assert threads() == before
