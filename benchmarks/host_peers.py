"""Our C beside what else runs networks on this computer: latency, memory, size and start, in one run.

    python benchmarks/host_peers.py --networks resnet8_cifar,mbv2_224 --threads 1,2 --json peers.json --svg peers.svg

Peers are installed by pip into environments of their own, below the cache folder; one that cannot be installed, or
cannot take a network, is left out by name. Every contestant is a process of its own, and they take turns, so that what
else the machine does hits all of them. Memory is what a process takes at most beyond Python, numpy and the inputs;
start is loading the network and computing it once, after all imports. What a peer makes of a model (.tflite, .pt2,
.vmfb) is taken from beside the model where it lies there, as not every machine has every converter.
With --no-install those that this environment has take part, also where there is no network.
$PIP_EXTRA_INDEX_URL may name a place that has torch without what graphics cards need.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.host_environments import Environment, Failed
from benchmarks.host_models import KINDS, NETWORKS, Network, networks
from benchmarks.host_peak import Peak, measured_peak
from benchmarks.host_peers_list import OURS, PEERS, Peer
from benchmarks.host_process import Process
from benchmarks.host_table import markdown
from benchmarks.scatter_charts import Point, Scatter, svg

from tilewright.toolchain.compiler import cache_folder

ROUNDS = 20
"""Turns that each contestant has, as long as it has not had its seconds."""
FEWEST = 3
"""Inferences of each, however slow."""
COLUMNS = (
    "", "median ms", "min ms", "processor ms", "runs", "to fastest peer", "% of peak", "memory MiB", "file MB",
    "start ms", "differs",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """One contestant with one network."""

    network: str
    kind: str
    threads: int
    contestant: str
    median_seconds: float
    fastest_seconds: float
    processor_seconds: float
    """Of all threads, the median: what it would take with one thread if nothing else ran on the machine."""
    inferences: int
    share_of_peak: float
    resident_bytes: int
    artefact_bytes: int
    import_seconds: float
    start_seconds: float
    difference: float
    """From PyTorch's outputs: the largest one, relative to the largest output."""
    cosine: float


@dataclass(frozen=True)
class Missing:
    network: str
    kind: str
    contestant: str
    reason: str


def main() -> None:
    asked = arguments()
    cache = asked.cache or cache_folder() / "host_peers"
    Environment.may_install = not asked.no_install
    found = networks(asked.networks, asked.kinds, asked.models, asked.definitions, cache)
    rows: list[Measured] = []
    missing: list[Missing] = []
    peaks = {threads: measured_peak(threads) for threads in asked.threads}
    for threads in asked.threads:
        for network in found:
            made, left_out = compared(network, threads, asked, cache, peaks[threads])
            rows += made
            missing += [one for one in left_out if one not in missing]
            show(network, threads, made)
            write(asked, rows, missing, peaks)
    for one in missing:
        print(f"left out: {one.contestant} with {one.network} {one.kind}: {one.reason}")


def arguments() -> argparse.Namespace:
    def words(text: str) -> list[str]:
        return [word for word in text.split(",") if word]

    stored = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[2] / "shared" / "networks"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--networks", type=words, default=list(NETWORKS), help="names, with commas")
    parser.add_argument("--kinds", type=words, default=list(KINDS), help="fp32, int8 or both")
    parser.add_argument("--peers", type=words, default=list(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument("--threads", type=lambda text: [int(word) for word in words(text)], default=[1, 2])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each contestant with each network")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a peer may make or load something for")
    parser.add_argument("--no-install", action="store_true", help="only peers of this environment, in their versions")
    parser.add_argument("--models", type=Path, help="a folder of networks that are there already")
    parser.add_argument("--definitions", type=Path, default=stored / "host", help="the folder of gen_models.py")
    parser.add_argument("--cache", type=Path, help="where peers and what they make are kept")
    parser.add_argument("--json", type=Path, help="a file for all results")
    parser.add_argument("--svg", type=Path, help="a file for the picture")
    parser.add_argument("--markdown", type=Path, help="a file for a table of all")
    asked = parser.parse_args()
    unknown = [name for name in asked.peers if name not in PEERS]
    if unknown:
        parser.error(f"unknown peers: {', '.join(unknown)}; known: {', '.join(PEERS)}")
    return asked


def compared(
    network: Network, threads: int, asked: argparse.Namespace, cache: Path, peak: Peak
) -> tuple[list[Measured], list[Missing]]:
    """All contestants with one network, in turns."""
    started: dict[str, Process] = {}
    left_out: list[Missing] = []

    def left(name: str, error: Failed) -> None:
        left_out.append(Missing(network.name, network.kind, name, str(error)))

    for peer in (OURS, *(PEERS[name] for name in asked.peers)):
        if network.kind not in peer.kinds:
            continue
        try:
            started[peer.name] = begun(peer, network, threads, cache, asked.limit)
        except Failed as error:
            left(peer.name, error)
    times: dict[str, list[list[float]]] = {name: [] for name in started}
    for _ in range(ROUNDS):
        for name in waiting(times, asked.seconds):
            try:
                times[name] += started[name].run(asked.seconds / ROUNDS)
            except Failed as error:
                left(name, error)
                del times[name]
    rows = []
    for name, process in started.items():
        try:
            rows += [measured(network, threads, name, process, times[name], peak)] if name in times else []
        except Failed as error:
            left(name, error)
        process.end()
    return rows, left_out


def waiting(times: dict[str, list[list[float]]], seconds: float) -> list[str]:
    """Contestants that have another turn: slow ones compute less often."""
    spent = {name: sum(one for one, _ in found) for name, found in times.items()}
    return [name for name, found in times.items() if spent[name] < seconds or len(found) < FEWEST]


def begun(peer: Peer, network: Network, threads: int, cache: Path, limit: float) -> Process:
    artefact = peer.make(network, threads, cache, limit)
    environment = Environment(cache / "environments", peer.packages).ready() if peer.packages else None
    python = Path(sys.executable) if environment is None else environment.python
    return Process(python, peer.module, artefact, network.inputs, threads, limit)


def measured(
    network: Network, threads: int, name: str, process: Process, times: list[list[float]], peak: Peak
) -> Measured:
    pairs, said = paired(process.outputs(), network.expected()), process.said
    middle, busy = np.median(times, axis=0).tolist()
    fastest = min(one for one, _ in times)
    return Measured(
        network.name, network.kind, threads, name, middle, fastest, busy, len(times),
        peak.share(network.kind, network.macs, busy if threads == 1 else middle), said["resident_bytes"],
        process.artefact_bytes,
        said["import_seconds"], said["load_seconds"] + said["first_seconds"],
        max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9)) for a, b in pairs),
        min(float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)) for a, b in pairs),
    )  # fmt: skip


def paired(outputs: list[np.ndarray], expected: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """As rows of numbers."""
    if [made.size for made in outputs] != [wanted.size for wanted in expected]:
        raise Failed(f"has outputs of {[one.shape for one in outputs]}, not {[one.shape for one in expected]}")
    return [
        (made.reshape(-1).astype(float), wanted.reshape(-1)) for made, wanted in zip(outputs, expected, strict=True)
    ]


def show(network: Network, threads: int, rows: list[Measured]) -> None:
    best = min((taken(row) for row in rows if row.contestant != OURS.name), default=0.0)
    table = Table(title=f"{network.title}, {threads} thread{'s' * (threads > 1)}, {network.macs:,} MAC")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column else "left")
    for row in sorted(rows, key=taken):
        table.add_row(
            row.contestant, f"{row.median_seconds * 1e3:.3f}", f"{row.fastest_seconds * 1e3:.3f}",
            f"{row.processor_seconds * 1e3:.3f}", str(row.inferences),
            f"{taken(row) / best:.2f}" if best else "", f"{row.share_of_peak:.0%}",
            f"{row.resident_bytes / 2**20:.1f}", f"{row.artefact_bytes / 1e6:.2f}", f"{row.start_seconds * 1e3:.1f}",
            f"{row.difference:.1e}" if network.kind == "fp32" else f"cos {row.cosine:.4f}",
        )  # fmt: skip
    Console(width=130).print(table)


def taken(row: Measured) -> float:
    """What contestants are compared by: with one thread the processor's time, which others on the machine do not add
    to."""
    return row.processor_seconds if row.threads == 1 else row.median_seconds


def write(asked: argparse.Namespace, rows: list[Measured], missing: list[Missing], peaks: dict[int, Peak]) -> None:
    said: dict[str, Any] = {
        "machine": {"processor": platform.machine(), "processors": os.cpu_count(), "load": os.getloadavg()},
        "peak_macs_per_second": {str(threads): asdict(peak) for threads, peak in peaks.items()},
        "results": [asdict(row) for row in rows], "left_out": [asdict(one) for one in missing],
    }  # fmt: skip
    if asked.json:
        asked.json.write_text(json.dumps(said, indent=1) + "\n")
    shown = [row for row in rows if row.threads == min(asked.threads)]
    if asked.markdown and shown:
        asked.markdown.write_text(markdown(shown, taken, FEWEST))
    if asked.svg and shown:
        points = [
            Point(row.contestant, f"{row.network} {row.kind}", taken(row) * 1e3, row.resident_bytes / 2**20)
            for row in shown
        ]
        asked.svg.write_text(svg(Scatter("Latency and memory, one thread", "ms", "MiB beyond Python", points)))


if __name__ == "__main__":
    main()
