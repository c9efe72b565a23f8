"""`tilewright doctor`: what this machine has of what Tilewright can use, and what is missing for what."""

from __future__ import annotations

import platform
from dataclasses import asdict

from tilewright.cli.options import Json
from tilewright.cli.process import AGREES, DISAGREES, print_json
from tilewright.version import VERSION


def doctor(as_json: Json = False) -> int:
    """Check the compiler, emulators, extras and drivers: what is there, what is missing for what, and how to get it.
    The exit code is 1 if the compiler, which everything needs, does not work."""
    from tilewright.report import health
    from tilewright.report.console import console
    from tilewright.toolchain.doctor import Check, examined

    system = f"{VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    found = [Check("package", "tilewright", True, system, "everything", "", is_needed=True), *examined()]
    if as_json:
        print_json("doctor", {"status": "ok", "checks": [asdict(one) for one in found]})
    else:
        health.print_checks(console(), found)
    return AGREES if all(one.works for one in found if one.is_needed) else DISAGREES
