"""`tilewright serve` where it cannot begin: one clear error, before the model is read."""

from __future__ import annotations

import sys

import pytest

from tests.support.command import Command
from tilewright.serving.run import bound


def test_a_port_in_use(command: Command) -> None:
    with bound("127.0.0.1", 0) as place:
        ran = command("serve", "nowhere", "--port", str(place.getsockname()[1]))
    assert ran.code == 2
    assert "is in use by another program" in ran.err


def test_without_the_server_s_packages(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = command("serve", "nowhere")
    assert ran.code == 2
    assert "pip install 'tilewright[serve]'" in ran.err
