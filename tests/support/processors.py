"""What tests ask of targets for computers."""

from __future__ import annotations

from tilewright.target.runner import HostProcess
from tilewright.target.target import Target


def processor_of(target: Target) -> str:
    """Whose code it is; empty where any will do, or where it is for no computer."""
    return target.runner.cpu if isinstance(target.runner, HostProcess) else ""
