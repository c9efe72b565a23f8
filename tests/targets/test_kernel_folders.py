"""Files of one name in two of a target's kernel folders: the first hides the other from all kernels of the target."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilewright import targets
from tilewright.target.target import Target

MEANT_TO_HIDE = {
    "portable_dots.h": "cpu has it in vectors",
    "tap_tiles.h": "cpu has it in vectors",
    "fast_gelu.h": "cpu has it with a power of its own",
    "narrow.h": "snitch has it by words",
    "nan.h": "cortex-m55 asks a number's bits",
    "team.h": "snitch and mempool have barriers of their own",
}


def hidden(target: Target) -> Iterator[str]:
    """Headers that a folder hides from kernels of a later one."""
    seen: set[str] = set()
    for folder in (target.folder, *target.bases):
        found = {path.name for path in (folder / "kernels").glob("*.h")}
        yield from found & seen
        seen |= found


@pytest.mark.fast
@pytest.mark.parametrize("name", targets.names())
def test_no_header_hides_another_unknowingly(name: str) -> None:
    assert set(hidden(targets.find(name))) <= MEANT_TO_HIDE.keys()
