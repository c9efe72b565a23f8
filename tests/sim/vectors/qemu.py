"""What QEMU's user mode makes of the cases, as a checksum for each instruction: python -m tests.sim.vectors.qemu.

QEMU 7.2 wrote `qemu.json`. Elements that a mask leaves out or that are behind the last one are kept there too.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.sim.assembling import assemble
from tests.sim.vectors.cases import CASE_BYTES, FEATURES, MEMORY_BYTES, Case, cases, program

SUMS = Path(__file__).with_name("qemu.json")
SEED, BATCH = 1, 400
INPUT = random.Random(5).randbytes(1024)
MOVED, RESULTS = 2048, 4096
"""Where the bytes that are moved begin, behind the input, and what is written."""
DATA = INPUT + bytes(MOVED - len(INPUT)) + bytes(range(256)) * (MEMORY_BYTES // 256)
CODE_AT, DATA_AT, SPACE = 0x10000, 0x400000, 1 << 20
WRITE, EXIT = 64, 93


def start(data: int) -> str:
    return f"li a2, {data}\nli a3, {data + RESULTS}\nli a4, {data + MOVED}\nmv s9, a3\n"


def batches(listed: list[Case]) -> Iterator[list[Case]]:
    return (listed[at : at + BATCH] for at in range(0, len(listed), BATCH))


def sums(listed: list[Case], results: bytes) -> dict[str, int]:
    """Of all results of each instruction."""
    found: dict[str, int] = {}
    for number, case in enumerate(listed):
        piece = results[number * CASE_BYTES : (number + 1) * CASE_BYTES]
        found[case.name] = zlib.crc32(piece, found.get(case.name, 0))
    return found


def _results(batch: list[Case], folder: Path) -> bytes:
    """Also what became of the bytes that are moved."""
    ends = f"""
    li a0, 1\nmv a1, s9\nsub a2, a3, s9\nli a7, {WRITE}\necall
    li a0, 1\nli a1, {DATA_AT + MOVED}\nli a2, {MEMORY_BYTES}\nli a7, {WRITE}\necall
    li a0, 0\nli a7, {EXIT}\necall"""
    path = folder / "cases"
    path.write_bytes(_linked(assemble(start(DATA_AT) + program(batch) + ends, FEATURES)))
    os.chmod(path, 0o755)
    cpu = "rv32,v=true,vlen=128,vext_spec=v1.0"
    return subprocess.run(["qemu-riscv32", "-cpu", cpu, str(path)], capture_output=True, check=True).stdout


def _linked(code: bytes) -> bytes:
    """An ELF file with code, and data that may be written."""
    data_from = 4096 + (len(code) + 4095 & ~4095)
    head = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, CODE_AT, 52, 0, 0, 52, 32, 2, 40, 0, 0)
    head += struct.pack("<8I", 1, 4096, CODE_AT, CODE_AT, len(code), len(code), 5, 4096)
    head += struct.pack("<8I", 1, data_from, DATA_AT, DATA_AT, len(DATA), SPACE, 6, 4096)
    return (head.ljust(4096, b"\0") + code).ljust(data_from, b"\0") + DATA


def main() -> None:
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        results = [_results(batch, Path(folder)) for batch in batches(cases(SEED))]
    found = sums(cases(SEED), b"".join(one[:-MEMORY_BYTES] for one in results))
    moved = {f"memory {number}": zlib.crc32(one[-MEMORY_BYTES:]) for number, one in enumerate(results)}
    SUMS.write_text(json.dumps(found | moved, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
