"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
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
    with _refusing(place):
        if not _is_written_as_it_is(place):
            tempfile.TemporaryFile(dir=place.parent).close()


def _is_written_as_it_is(place: Path) -> bool:
    """/dev/stdout, a pipe: there is nothing to put in its place."""
    return place.exists() and not place.is_file()


@contextmanager
def _refusing(place: Path, option: str = "file") -> Iterator[None]:
    try:
        with suppress(FileNotFoundError):
            place.stat()  # raises where links lead to each other
        if place.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if place.exists() and not os.access(place, os.W_OK):  # its folder may allow to put another one in its place
            raise PermissionError(0, "it is read-only")
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise CompileError(str(place), what, f"choose another {option}") from None


@contextmanager
def _draft(place: Path) -> Iterator[BinaryIO]:
    if _is_written_as_it_is(place):
        with open(place, "wb") as file:
            yield file
        return
    place = place.resolve()  # what a link leads to, rather than the link
    handle, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    os.close(handle)
    try:
        with open(draft, "wb") as file:
            yield file
        # A temporary file is its owner's alone; what is written on purpose is as readable as what was in its place, or
        # as any other file.
        os.chmod(draft, S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_mask())
        os.replace(draft, place)
    finally:
        Path(draft).unlink(missing_ok=True)


def _mask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
