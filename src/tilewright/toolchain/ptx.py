"""Code for NVIDIA's GPUs, as the text that their driver reads (PTX): the clang inside the ziglang package makes it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.toolchain.compiler import Compiler, compile_objects, find_cross_compiler

VERSIONS = {70: "63", 75: "63", 80: "70", 86: "71", 89: "78", 90: "80", 100: "87", 120: "87"}
"""Compute capability -> the oldest version of PTX that knows it: drivers read those of their time and older."""
NEWEST = "88"
"""What this clang writes, if it is not told otherwise."""


def ptx_version(capability: int) -> str:
    return VERSIONS[max(known for known in VERSIONS if known <= capability)]


def ptx(sources: Sequence[str], files: Mapping[str, str], headers: Path, capability: int) -> list[str]:
    """The text for each of the sources, whose `files` include each other; `headers` has what the C library would."""
    zig = find_cross_compiler().command[0]
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
        options = _options(Path(zig).parent / "lib" / "include", headers, capability)
        made = compile_objects({folder / source: options for source in sources}, folder, Compiler((zig, "clang")))
        return [path.read_text(encoding="utf-8") for path in made]


def _options(compiler_headers: Path, headers: Path, capability: int) -> list[str]:
    told = [
        "-target-cpu", f"sm_{capability}", "-target-feature", f"-ptx{NEWEST}",
        "-target-feature", f"+ptx{ptx_version(capability)}",
    ]  # fmt: skip
    return [
        "-target", "nvptx64-nvidia-cuda", "-std=c99", "-O3", "-ffreestanding", "-nostdinc", "-DTW_GPU_DEVICE",
        "-isystem", str(headers), "-isystem", str(compiler_headers), "-w", "-S",
        *(word for option in told for word in ("-Xclang", option)),
    ]  # fmt: skip
