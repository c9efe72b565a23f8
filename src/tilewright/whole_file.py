"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tilewright.errors import CompileError


def write_whole(place: Path, content: str | bytes, option: str) -> None:
    """A file that an option names."""
    with written_whole(place, option) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def written_whole(place: Path, option: str = "file") -> Iterator[BinaryIO]:
    """A file to write to; whatever was in the place stays there until all of it is written."""
    with _refusing(place, option), _draft(place) as file:
        yield file


def check_place(place: Path) -> None:
    """That a file can be written there, for those who work long before they write it."""
    with _refusing(place), tempfile.TemporaryFile(dir=place.parent):
        pass


@contextmanager
def _refusing(place: Path, option: str = "file") -> Iterator[None]:
    try:
        if place.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise CompileError(str(place), what, f"choose another {option}") from None


@contextmanager
def _draft(place: Path) -> Iterator[BinaryIO]:
    if place.exists() and not place.is_file():  # /dev/stdout, a pipe: there is nothing to put in its place
        with open(place, "wb") as file:
            yield file
        return
    place = place.resolve()  # what a link leads to, rather than the link
    handle, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    os.close(handle)
    try:
        with open(draft, "wb") as file:
            yield file
        # A temporary file is its owner's alone; what is written on purpose is as readable as any other file.
        os.chmod(draft, 0o666 & ~_mask())
        os.replace(draft, place)
    finally:
        Path(draft).unlink(missing_ok=True)


def _mask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
