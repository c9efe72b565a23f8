"""What a framework says when it cannot trace a program: its reason in one sentence, and the user's line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from tilewright.errors import InternalError

OURS = str(Path(__file__).parents[1])
"""The folder of this package."""
NUMPY = str(Path(np.__file__).parent)
LONGEST = 300
"""Characters of a reason; frameworks go on with pages of advice."""
LONGEST_LINE = 80
"""Characters of a line of the user's that are shown."""


def reason_of(error: BaseException) -> str:
    """The first sentence of an error."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    paragraph = " ".join(text.partition("\n\n")[0].split()) or type(error).__name__
    sentence = re.split(r"(?<=[a-z)\]'\"])\.\s", paragraph, maxsplit=1)[0].rstrip(".")
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 3]}..."


def user_line(error: BaseException, *frameworks: ModuleType) -> str:
    """The deepest line of a traceback that is the user's own: 'file.py:5: if x.sum() > 0:'."""
    inner = [*(str(Path(module.__file__ or "").parent) for module in frameworks), OURS]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    ours = max((i for i, frame in enumerate(frames) if frame.filename.startswith(inner[-1])), default=-1)
    foreign = (*inner, "site-packages", "/lib/python3")
    users = [at for at, frame in enumerate(frames) if not any(folder in frame.filename for folder in foreign)]
    own = [frames[at] for at in users if at > ours] or [frames[at] for at in users]  # it may call what is ours
    return described(own[-1].filename, own[-1].lineno or 0, own[-1].line or "") if own else ""


def described(file: str, line: int, text: str) -> str:
    code = text.strip()
    short = code if len(code) <= LONGEST_LINE else f"{code[: LONGEST_LINE - 3]}..."
    return f"{Path(file).name}:{line}" + (f" `{short}`" if short else "")


def raised_in(error: BaseException, folders: Sequence[str]) -> bool:
    """Whether the innermost frame that is not numpy's lies in one of some folders: it is not ours then."""
    # The first frame is that of whoever asks.
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)][1:]
    own = [file for file in files if not file.startswith((NUMPY, "<"))]
    return bool(own) and own[-1].startswith(tuple(folders))


def is_ours(error: BaseException) -> bool:
    """A fault of this package, though a framework has called it."""
    return isinstance(error, InternalError) or raised_in(error, (OURS,))
