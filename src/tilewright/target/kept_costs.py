"""What `tilewright calibrate cpu` has measured on this machine: a file for each processor, beside the other caches."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilewright.toolchain.compiler import cache_folder

NAMED_BY = ("model name", "flags", "CPU implementer", "CPU part", "Features", "isa")
"""Lines of /proc/cpuinfo that tell processors apart."""
SYSTEM = Path("/proc/cpuinfo")


def kept_file() -> Path:
    """Several machines may share a home folder."""
    return cache_folder() / f"cpu_costs_{sha256(_processor().encode()).hexdigest()[:12]}.json"


def _processor() -> str:
    try:
        lines = SYSTEM.read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(NAMED_BY)))


def kept() -> Mapping[str, Any]:
    """Empty where nothing was measured. A file that cannot be read must not keep anybody from measuring again."""
    path = kept_file()
    if not path.is_file():
        return {}
    try:
        return _checked(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        warnings.warn(
            f"{path} cannot be read ({error!r}): packaged costs are used; `tilewright calibrate cpu` measures again",
            stacklevel=2,
        )
        return {}


def _checked(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Numbers where there must be numbers: of kernels, and of levels of caches."""
    return {
        "kernels": {str(stem): tuple(map(float, values)) for stem, values in found["kernels"].items()},
        "caches": {int(level): float(price) for level, price in found.get("caches", {}).items()},
    }
