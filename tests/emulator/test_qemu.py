"""Cortex-M in QEMU: what programs do and execute, and what is said where QEMU or a program fails."""

from __future__ import annotations

import shutil

import pytest

from tilewright.emulator.qemu_process import PROGRAM

needs_qemu = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not installed")
