"""Networks in processes side by side, the smallest first: a line of what became of each, and how many of which kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.support.networks import label


def print_verdicts(paths: Sequence[Path], verdict: Callable[[Path], str], jobs: int) -> None:
    """A verdict is a kind, and behind a colon what there is to say."""
    ordered = sorted(paths, key=_bytes)
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs) as pool:
        for path, text in zip(ordered, pool.map(verdict, ordered), strict=True):
            found[text.partition(":")[0]] += 1
            print(f"{label(path)}: {text}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in found.items()), f"of {len(ordered)}")


def _bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.stem}*") if file.is_file())
