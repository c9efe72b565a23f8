"""What a core takes for its instructions, as data: cycles beyond the one that each of them takes."""

from __future__ import annotations

import ctypes
from dataclasses import astuple, fields
from enum import IntEnum

from tilewright.records import dataclass


class Divider(IntEnum):
    """How cycles of a division are counted: DIVIDER_... of isa/divider.h."""

    RI5CY = 0
    CV32E40P = 1
    FIXED = 2


class Predictor(IntEnum):
    """Which branches a core expects to be taken: PREDICT_... of engine/timing.h."""

    NONE = 0
    """None, and every taken one costs `taken_branch`."""
    LAST_BACKWARD = 1
    """The backward one that was taken last."""
    BACKWARD = 2
    """All backward ones."""


@dataclass(frozen=True)
class CoreTiming:
    """The fields of core_timing in engine/timing.h, in their order, with what each of them means."""

    load_use: int = 0
    taken_branch: int = 0
    """Also what a wrong guess costs."""
    jump: int = 0
    jump_use: int = 0
    split_target: int = 0
    mul: int = 0
    mul_use: int = 0
    mulh: int = 0
    mulh_use: int = 0
    fpu_divide: int = 0
    elw_answered: int = 0
    elw_wake: int = 0
    float_load_repeat: int = 0
    load_lost: int = 0
    csr_flush: int = 0
    fence: int = 0
    jump_own: int = 0
    divider: Divider = Divider.FIXED
    loop_unit: int = 4
    load: int = 0
    store: int = 0
    divide: int = 0
    predictor: Predictor = Predictor.NONE


class CTiming(ctypes.Structure):
    _fields_ = [(field.name, ctypes.c_uint32) for field in fields(CoreTiming)]


def to_c(timing: CoreTiming | None) -> CTiming:
    """Zeros where there is none."""
    return CTiming() if timing is None else CTiming(*astuple(timing))
