"""Files of a user's target may change while a process runs: each network reads them anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilewright import targets

pytestmark = pytest.mark.fast


def test_a_users_files_are_read_for_each_network(tmp_path: Path) -> None:
    ours = targets.find("generic")
    file = tmp_path / "kernels" / "own.h"
    file.parent.mkdir()
    for text in ("first", "second"):
        file.write_text(text)
        target = replace(ours, folder=tmp_path, bases=ours.folders)
        assert target.kernel_text("own.h") == text
        assert target.kernel_text("conv_bfloat16.c") == (ours.folder / "kernels" / "conv_bfloat16.c").read_text()


def test_a_users_file_comes_before_ours_once_it_is_there(tmp_path: Path) -> None:
    ours = targets.find("generic")
    target = replace(ours, folder=tmp_path, bases=ours.folders)
    assert target.kernel_file("conv_bfloat16.c") == ours.kernel_file("conv_bfloat16.c")
    own = tmp_path / "kernels" / "conv_bfloat16.c"
    own.parent.mkdir()
    own.write_text("")
    assert target.kernel_file("conv_bfloat16.c") == own
