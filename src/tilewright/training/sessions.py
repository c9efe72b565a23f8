"""Where a network that learns runs: the one place that chooses."""

from __future__ import annotations

from tilewright.training.chip_session import ChipSession
from tilewright.training.folder import LearnerC
from tilewright.training.host_session import HostSession
from tilewright.training.session import Session


def session(model: LearnerC, cc: str | None = None) -> Session:
    return ChipSession(model, cc) if model.is_on_chip else HostSession(model, cc)
