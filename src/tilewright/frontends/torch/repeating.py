"""Steps of which all are the same, as a loop of the program and not written out one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FEW = 6
"""Steps that are written out, by which some of their operations become constants."""


def repeated(step: Callable[[Any], Any], state: Any, times: int) -> Any:
    """The state after this number of steps."""
    return numbered(lambda before, number: (step(before), number + 0), state, times)[0]


def numbered(step: Callable[[Any, Any], tuple[Any, Any]], state: Any, times: int) -> tuple[Any, Any]:
    """The state behind so many steps, and what each of them gives, one behind the other along the first axis. A step is
    given its number."""
    import torch
    from torch._higher_order_ops.scan import scan

    if times > FEW:
        with torch._dynamo.config.patch(automatic_dynamic_shapes=False):  # sizes are those of this matrix
            return scan(step, state, torch.arange(times))
    found = []
    for number in range(times):
        state, result = step(state, number)
        found.append(torch.as_tensor(result))
    return state, torch.stack(found)


def chosen(x: Any, axis: int, number: Any) -> Any:
    """One place of an axis, which stays."""
    return x.narrow(axis, number, 1) if isinstance(number, int) else x.index_select(axis, number.reshape(1))
