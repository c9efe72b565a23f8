"""`tilewright sim --platform ethos-u55-128`: one command stream of an NPU, with regions from files, and what it did."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tilewright.cli.process import patient, print_json
from tilewright.errors import CompileError
from tilewright.frontends.tflite.file import MAGIC, MAGIC_AT
from tilewright.sim.ethos_u.npu import REGIONS, EthosU, Region, Run
from tilewright.sim.ethos_u.payload import Payload, read_payload
from tilewright.whole_file import write_whole

LARGEST = 1 << 30
"""Bytes of a region."""


def simulate_npu(
    stream: Path, npu: str, regions: list[str] | None, outputs: list[str] | None, compiler: str | None, as_json: bool
) -> int:
    """Executes the stream and writes the regions that are asked for."""
    machine = EthosU(npu, compiler)
    data = _bytes(stream)
    _refuse_network(data, npu, stream)
    payload = read_payload(data, str(stream))
    _refuse_other(payload, npu, stream)
    made = dict(_region(word) for word in regions or ())
    written = dict(_output(word, made) for word in outputs or ())
    run = machine.run(payload.words, made)
    for number, path in written.items():
        write_whole(path, made[number].bytes.tobytes(), "--output")
    _print(npu, run, as_json)
    return 0


def _refuse_network(data: bytes, npu: str, stream: Path) -> None:
    if data[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC:
        hint = f"tilewright run {stream} --target cortex-m55+{npu.removeprefix('ethos-')}"
        raise CompileError(str(stream), "is a TensorFlow Lite file, not a command stream", hint)


def _refuse_other(payload: Payload, npu: str, stream: Path) -> None:
    if payload.npu not in (None, npu):
        raise CompileError(
            str(stream), f"was compiled for {payload.npu}, not for {npu}", f"choose --platform {payload.npu}"
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CompileError(str(path), f"cannot be read: {error.strerror or error}", "choose another file") from None


def _numbered(word: str, option: str, example: str) -> tuple[int, str]:
    number, sign, rest = word.partition("=")
    if not sign or not rest or not number.isdecimal() or int(number) >= REGIONS:
        raise CompileError(f"{option} {word}", "names no region from 0 to 7", f"for example {option} {example}")
    return int(number), rest


def _region(word: str) -> tuple[int, Region]:
    """Bytes of a file, or so many that nobody has written."""
    number, rest = _numbered(word, "--region", "0=weights.bin, or --region 1=4096")
    if not rest.isdecimal():
        return number, Region(np.frombuffer(_bytes(Path(rest)), np.uint8).copy())
    size = int(rest)
    if size > LARGEST:
        raise CompileError(f"--region {word}", f"has more than {LARGEST} bytes", "give it fewer")
    return number, Region(np.zeros(size, np.uint8), np.zeros(size, np.uint8))


def _output(word: str, regions: dict[int, Region]) -> tuple[int, Path]:
    number, rest = _numbered(word, "--output", "1=results.bin")
    if number not in regions:
        raise CompileError(f"--output {word}", f"there is no region {number}", f"add --region {number}=BYTES")
    return number, Path(rest)


def _print(npu: str, run: Run, as_json: bool) -> None:
    if as_json:
        print_json("sim-npu", {"status": "ok", "platform": npu, **run.as_dict()})
        return
    with patient(sys.stderr):
        print(
            f"{npu}: {run.operations} operations in {run.commands} commands, {run.macs} MACs, "
            f"{run.read_bytes} bytes read, {run.written_bytes} written, {run.dma_bytes} by DMA",
            file=sys.stderr,
        )
