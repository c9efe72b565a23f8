"""Files that points depend on: what is in them, as a hash; and packed, for a machine that does not have them."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.frontends.onnx.external_data import external_files

SHOWN = ("cli", "report")
"""Parts of the package that only show results."""
PACKAGES = ("flatbuffers", "numpy", "onnx", "ortools", "tflite", "ziglang", "torch", "tensorflow", "keras", "jax")
"""Others that results depend on."""
BLOCK = 1 << 20


def sources_digest() -> str:
    """Of Tilewright's own sources, and the versions of what it uses: another one may give other results."""
    root = Path(__file__).parents[1]
    kept = [path for path in _files(root) if path.relative_to(root).parts[0] not in SHOWN]
    digest = hashlib.sha256(_digest(root, kept).encode())
    for name in PACKAGES:
        try:
            digest.update(f"\0{name} {metadata.version(name)}".encode())
        except metadata.PackageNotFoundError:
            continue
    return digest.hexdigest()


def digest_of(path: str) -> str:
    """Of a file with those that it refers to, or of a folder."""
    place = Path(path)
    try:
        return _digest(_root(place), _members(place))
    except OSError as error:
        raise CompileError(path, f"cannot be read: {error.strerror or error}", "check the path") from None


def packed(path: str) -> bytes:
    """The same as one archive; the files have no times, so that the same files give the same bytes."""
    place, archive = Path(path), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for member in _members(place):
            name = member.relative_to(_root(place)).as_posix()
            written.writestr(zipfile.ZipInfo(name), member.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def unpacked(archive: bytes, digest: str, name: str, base: Path) -> str:
    """Where a file or folder lies that came as an archive; it is put there whole, once."""
    place = base / hashlib.sha256(f"{digest} {name}".encode()).hexdigest()
    if not place.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        draft = tempfile.mkdtemp(prefix="draft-", dir=base)
        with zipfile.ZipFile(io.BytesIO(archive)) as found:
            found.extractall(Path(draft) / name if _is_folder(found, name) else draft)
        try:
            os.rename(draft, place)
        except OSError:  # another process was faster
            if not place.is_dir():
                raise
    return str(place / name)


def _is_folder(archive: zipfile.ZipFile, name: str) -> bool:
    return name not in archive.namelist()


def _root(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def _members(place: Path) -> list[Path]:
    if place.is_dir():
        return list(_files(place))
    return [place, *external_files(place)]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _digest(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"\0{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as opened:
            while block := opened.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()
