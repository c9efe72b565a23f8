"""The target of these tests."""

from __future__ import annotations

from tilewright import targets

SIRACUSA = targets.find("siracusa")
