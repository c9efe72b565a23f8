"""A target or board that is mistyped: the one that is called most alike is asked for, then all are listed."""

from __future__ import annotations

import pytest

from tilewright import targets
from tilewright.errors import CompileError

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("cortexm4", "do you mean cortex-m4? known targets: "),
        ("alif_e7", "do you mean alif-e7? known targets: "),
        ("zzz", "known targets: cortex-m0plus, "),
    ],
)
def test_targets(name: str, begins: str) -> None:
    with pytest.raises(CompileError, match="is unknown") as raised:
        targets.find(name)
    assert raised.value.hint.startswith(begins)


def test_boards() -> None:
    with pytest.raises(CompileError, match="is unknown") as raised:
        targets.find_board("nucleo-l4r5")
    assert raised.value.hint.startswith("do you mean nucleo-l4r5zi? known boards: ")
