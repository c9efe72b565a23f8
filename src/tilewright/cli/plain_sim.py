"""`tilewright sim PROGRAM [--platform NAME] [--json]`, read without the parser: loading that takes as long as many
programs take to simulate. All other words are the parser's to read, and to complain of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


def plain_sim(words: Sequence[str]) -> Callable[[], int] | None:
    """The simulation that the words ask for; None where they are not of this form."""
    if len(words) < 2 or words[0] != "sim" or words[1].startswith("-"):
        return None
    platforms, rest = list[str](), list(words[2:])
    while "--platform" in rest[:-1]:
        at = rest.index("--platform")
        platforms.append(rest[at + 1])
        del rest[at : at + 2]
    if set(rest) - {"--json"} or any(not name or name.startswith("-") for name in platforms):
        return None
    return lambda: _simulate(words[1], "--json" in rest, *platforms[-1:])


def _simulate(program: str, as_json: bool, platform: str | None = None) -> int:
    from tilewright.cli.simulate import PLATFORM, simulate

    return simulate(Path(program), platform or PLATFORM, as_json=as_json)
