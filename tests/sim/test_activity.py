"""What a program counts with 32 bits is known in full beside what the platform has counted."""

from __future__ import annotations

import pytest

from tilewright.sim.activity import Activity

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("count", [0, 7, 2**32 - 1, 2**32, 5_850_050_128, 2**35 - 2])
@pytest.mark.parametrize("beside", [0, 3, 40_000])
def test_cycles_of_long_programs(count: int, beside: int) -> None:
    """The platform has counted some more, before the program began to and after it had ended."""
    assert Activity({"cycles": count + beside}).cycles_read_as(count % 2**32) == count
