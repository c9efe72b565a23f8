"""C that goes into output folders is compiled by compilers that have more words than C has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright
from tilewright.codegen.names import SMALL_COMPILERS

ROOT = Path(tilewright.__file__).parent
FOLDERS = ("targets", "accelerator/c", "language/c")
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
WORDS = re.compile(rf"\b(?:{'|'.join(sorted(SMALL_COMPILERS))})\b")


def words_in(text: str) -> set[str]:
    """Those that are used as names."""
    return set(WORDS.findall(NO_CODE.sub(" ", text)))


@pytest.mark.in_turns(3)
def test_names_are_none_of_their_words() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ch]")]
    assert len(files) > 500
    found = {str(path.relative_to(ROOT)): words_in(path.read_text()) for path in files}
    assert {path: words for path, words in found.items() if words} == {}


def test_names_are_found_and_texts_are_not() -> None:
    assert words_in('/* near\n far */ int nearest; // huge\nconst char *x = "far"; float far = x.near;') == {
        "near",
        "far",
    }
