"""Vela, Arm's compiler for Ethos-U: from a TensorFlow Lite file to one in which the NPU's parts are command streams."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.tflite import importer
from tilewright.frontends.tflite.file import MAGIC, MAGIC_AT
from tilewright.records import dataclass
from tilewright.target.settings import CYCLES, RAM
from tilewright.targets.ethos_u.against_file import differences
from tilewright.targets.ethos_u.corrections import corrected
from tilewright.targets.ethos_u.vela_jobs import run_vela
from tilewright.toolchain.compiler import cache_folder

STREAM = b"COP1"
"""Every command stream begins with it."""
LEFT = re.compile(r"^Warning \([\w ]+\) operator: (\w+), ofm: '(.*)'\nReason: (.*)$", re.MULTILINE)
"""What Vela prints of an operator that stays on the core."""
EXTRA = "pip install 'tilewright[ethos-u]'"
PLAIN = "quantise it to int8 (tilewright quantise), without --numerics exact, or choose the core alone"
MADE = b"corrected by the debug database"
"""What files of Vela's have beyond its version."""
DATABASE = "--enable-debug-db"
MEANT = {CYCLES: "Performance", RAM: "Size"}
"""What goals are called there. For RAM, layers of a part are computed strip by strip, one behind the other."""
NOTES, CHECKED = "left.json", "checked"
ESTIMATE = "cycles of the NPU, predicted and in runs, are an estimate of its stream with memories as Vela assumes them"


class VelaError(CompileError):
    """What Vela says where it ends without a file."""


@dataclass(frozen=True)
class Left:
    """An operator that stays on the core."""

    kind: str
    tensor: str
    """Its first result."""
    why: str


@dataclass(frozen=True)
class MadeByVela:
    path: Path
    left: tuple[Left, ...]

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    def is_checked(self) -> bool:
        """Whether its streams gave the right results before."""
        return (self.path.parent / CHECKED).is_file()

    def keep_checked(self) -> None:
        with suppress(OSError):
            (self.path.parent / CHECKED).touch()


def for_npu(npu: str, model: Any, goal: str = CYCLES) -> tuple[Any, tuple[str, ...]]:
    """The file that Vela makes of a TensorFlow Lite file, and which operators it leaves to the core, and why. A file
    that has streams already is taken as it is, and so are other models: parts are cut out of their graphs."""
    data, stem = _tflite(model)
    if not data or STREAM in data:
        return model, (ESTIMATE,)
    try:
        made = compiled_by_vela(npu, data, stem, goal)
    except VelaError:
        importer.load(data)  # our own reader may know which operator is wrong
        raise
    notes = tuple(_notes(made.left))
    if STREAM not in made.data:
        what = f"Vela leaves all of it to the core{': ' + notes[0] if notes else ''}"
        raise CompileError(f"model '{stem}'", what, PLAIN)
    return made.path, (*notes, *_compared(data, made, stem), ESTIMATE)


def _notes(left: Sequence[Left]) -> Iterator[str]:
    """One for each kind of operator and reason."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in left:
        alike.setdefault((one.kind, one.why), []).append(one.tensor)
    for (kind, why), tensors in alike.items():
        others = len(set(tensors)) - 1
        said = f"and {others} more stay" if others else "stays"
        yield f"{kind} '{tensors[0]}' {said} on the core: {why}"


def _compared(data: bytes, made: MadeByVela, stem: str) -> tuple[str, ...]:
    """Notes on what the streams of a file compute otherwise; a file that has none is not compared again."""
    if made.is_checked():
        return ()
    notes = differences(data, made.data, stem)
    if not notes:
        made.keep_checked()
    return notes


def compiled_by_vela(npu: str, data: bytes, stem: str, goal: str = CYCLES) -> MadeByVela:
    """What Vela makes of a file; it is kept."""
    kept = (
        cache_folder()
        / "ethos_u"
        / hashlib.sha256(data + npu.encode() + MEANT[goal].encode() + _version() + MADE).hexdigest()[:32]
    )
    made = kept / f"{stem}.tflite"
    left = _left_of(made)
    if left is None:
        written, rows = _compiled(npu, data, stem, goal)
        _keep(kept, made.name, written, rows)
        left = tuple(Left(*row) for row in rows)
    return MadeByVela(made, left)


def _left_of(made: Path) -> tuple[Left, ...] | None:
    """What is kept beside a file that is as it was written; None of one that is cut or changed, after a power cut."""
    try:
        notes = json.loads((made.parent / NOTES).read_bytes())
        is_whole = notes["digest"] == hashlib.sha256(made.read_bytes()).hexdigest()
        return tuple(Left(*row) for row in notes["left"]) if is_whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _tflite(model: Any) -> tuple[bytes, str]:
    """The bytes of a TensorFlow Lite file and what it is called; none of another model."""
    data = model if isinstance(model, bytes) else b""
    if isinstance(model, str | os.PathLike) and Path(model).is_file():
        try:
            data = Path(model).read_bytes()
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
            raise CompileError(f"model '{model}'", what, "check the path") from None
    if data[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        return b"", ""
    return data, "network" if isinstance(model, bytes) else Path(model).stem


def check_installed() -> None:
    if importlib.util.find_spec("ethosu") is None:
        raise CompileError("Ethos-U", "its compiler, Vela, is not installed", EXTRA)


def _version() -> bytes:
    """Another Vela makes other streams."""
    check_installed()
    from importlib.metadata import version

    return version("ethos-u-vela").encode()


def _compiled(npu: str, data: bytes, stem: str, goal: str) -> tuple[bytes, Sequence[Sequence[str]]]:
    """Vela is a process of its own: what is wrong with a file may end it."""
    with TemporaryDirectory() as name:
        path = Path(name) / "given.tflite"
        path.write_bytes(data)
        words = [str(path), "--accelerator-config", npu, "--output-dir", name, DATABASE]
        words += ["--optimise", MEANT[goal]]
        done = run_vela(words, Path(name))
        result, database = (Path(name) / one for one in ("given_vela.tflite", "given_debug.xml"))
        if done.status or not result.is_file():
            said = [line.strip() for line in done.said.splitlines() if line.strip()]
            what = f"Vela does not compile it for {npu}: {said[-1][:200] if said else 'it says nothing'}"
            raise VelaError(f"model '{stem}'", what, "choose the core alone")
        text = database.read_text(encoding="utf-8") if database.is_file() else ""
        return corrected(data, result.read_bytes(), text), LEFT.findall(done.said)


def _keep(folder: Path, name: str, data: bytes, left: Sequence[Sequence[str]]) -> None:
    """Files appear when they are whole."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        notes = {"digest": hashlib.sha256(data).hexdigest(), "left": left}
        for file, text in ((NOTES, json.dumps(notes).encode()), (name, data)):
            draft = folder / f"{file}.{os.getpid()}"
            draft.write_bytes(text)
            os.replace(draft, folder / file)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
