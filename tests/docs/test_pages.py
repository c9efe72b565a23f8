"""A page is held to what its commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import Section, sections

pytestmark = pytest.mark.fast

PAGE = """# Title
no commands here
## First
text
```console
$ echo one > file; cat file
one
$ echo took 12.5 ms
took ...
```
more text
```
$ echo this is not run
```
## Words only
## Second
```console
$ ls; echo oops >&2
old output
```
"""


@pytest.fixture
def both(tmp_path: Path) -> list[Section]:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return sections(page)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "empty"
    made.mkdir()
    return made


def test_sections_without_commands_are_left_out(both: list[Section]) -> None:
    assert [section.title for section in both] == ["First", "Second"]
    assert both[0].commands == ["echo one > file; cat file", "echo took 12.5 ms"]


def test_what_is_true_stays(both: list[Section], folder: Path) -> None:
    assert both[0].run(folder) == both[0].text


def test_what_is_not_true_changes(both: list[Section], folder: Path) -> None:
    assert both[1].run(folder) == both[1].text.replace("old output", "examples\noops")
