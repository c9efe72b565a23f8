"""A TOML file that a user wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, unreadable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path, what: str, shown: str) -> dict[str, Any]:
    """What a file says. `what` it describes and where one is `shown` are for the messages."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise CompileError(str(path), "is not UTF-8 text", f"write the {what} as TOML in UTF-8") from None
    except RecursionError:
        raise CompileError(str(path), "is not TOML that can be read: its lists are too deep", shown) from None
    except ValueError as error:  # of TOML, and of a number with thousands of digits
        raise CompileError(str(path), f"is not TOML: {error}", shown) from None
