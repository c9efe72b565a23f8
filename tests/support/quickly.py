"""Code that only has to be right, of which nothing is measured: compilers spend less time on it."""

from __future__ import annotations

from dataclasses import replace

from tilewright.planner.schedule.schedule import Schedule

FLAGS = ("-Xclang", "-O1", "-fno-vectorize", "-fno-slp-vectorize")
"""Zig takes -O1 for -O2. Clang is done in half of the time, or less."""


def quickly(schedule: Schedule) -> Schedule:
    return replace(schedule, target=replace(schedule.target, flags=(*schedule.target.flags, *FLAGS)))
