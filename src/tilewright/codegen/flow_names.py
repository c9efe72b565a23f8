"""What functions of loops and branches are called in C."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.planner.schedule.layer_schedule import LayerSchedule

HEADER = "control_flow.h"
"""Beside the kernels."""
TOO_MANY_TURNS = 2
"""What a network returns that would have to run a loop more often than --max-trips."""
PREFIX = "flow"
"""What names begin with, but for those of functions that bodies need."""


def function_name(layer: LayerSchedule, inside: str = PREFIX) -> str:
    """Of a layer that is a loop or a branch; `inside` is the function of the body that it is part of."""
    return f"{inside}_{layer.number}"


def checked(call: str, may_stop: bool) -> str:
    """A call of a function that may end early."""
    return f"if ({call} != 0) return TW_TOO_MANY_TURNS;" if may_stop else f"{call};"


def called(layer: LayerSchedule, inside: str, pointers: Sequence[str], scratch: str) -> str:
    return f"{function_name(layer, inside)}({', '.join([*pointers, scratch])})"
