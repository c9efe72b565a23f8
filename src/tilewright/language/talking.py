"""Programs that talk: built from a model's C, run on this machine or on the virtual SoC, token by token."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from tilewright.codegen.kernels import PREFIX_FILE
from tilewright.errors import CompileError, InternalError, present
from tilewright.language.folder import CLUSTER_PROGRAM, FOLDER, HOST_PROGRAM, ModelC, prepare_header
from tilewright.language.sampler import Sampling
from tilewright.run.host import LOADABLE
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS, come_to
from tilewright.sim.activity import Activity
from tilewright.sim.energy import Energy
from tilewright.sim.program.elf import load_in_place
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import (
    STRICT,
    compile_objects,
    find_compiler,
    find_cross_compiler,
    link_objects,
    link_without_runtime,
)

END, FULL = -100, -1
"""What C gives behind the last token, and where the context is full."""
TEXT_STACK = 1024
"""Bytes that tokenizer and sampler may need of the first core's stack."""
RECORD = struct.Struct("<3q")
PROBLEMS = {
    -1: "the context does not hold all of its tokens", -2: "has a token outside the vocabulary",
    -3: "has no tokens at all", -4: "a network or the sampler refused its arguments",
}  # fmt: skip


GREEDY = Sampling()


@dataclass(frozen=True)
class Request:
    text: bytes
    tokens: int
    sampling: Sampling = GREEDY
    stops: bool = True

    def packed(self) -> bytes:
        """The struct that talk.h has."""
        seed = self.sampling.seed
        fields = (len(self.text), self.tokens, int(self.stops), *self.sampling.fixed)
        return struct.pack("<7i2I", *fields, seed & 0xFFFFFFFF, seed >> 32)


@dataclass(frozen=True)
class Read:
    """The prompt, read."""

    tokens: int
    seconds: float
    cycles: int | None = None
    energy: Energy | None = None


@dataclass(frozen=True)
class Said:
    """A token that was given."""

    token: int
    piece: bytes
    seconds: float
    """Of the chip where there are cycles, else of this machine."""
    cycles: int | None = None
    energy: Energy | None = None


Event = Read | Said


class Session(Protocol):
    def talk(self, request: Request) -> Iterator[Event]:
        """First what was read, then every token. Ends at the last one, or where the context is full."""


class HostSession:
    """On this machine. The files live as long as the object."""

    counts_cycles: ClassVar[bool] = False
    elf: Path | None = None

    def __init__(self, model: ModelC, cc: str | None = None) -> None:
        self.model = model
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        _write(self.folder, model, {HOST_PROGRAM: (FOLDER / HOST_PROGRAM).read_text()})
        target, compiler = model.modes.decoding.schedule.target, find_compiler(cc)
        # As `run` has them, which makes the same kernels.
        flags = [*STRICT, *target.flags, "-march=native", "-g0", "-I.", *LOADABLE]
        sources = sorted(path for path in self.folder.rglob("*") if path.suffix in (".c", ".S"))
        objects = compile_objects(dict.fromkeys(sources, flags), self.folder, compiler)
        link_without_runtime(objects, target.libraries, self.folder / "program", compiler, target.flags)

    def talk(self, request: Request) -> Iterator[Event]:
        with subprocess.Popen(
            [str(self.folder / "program")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder
        ) as program:
            source, sink = present(program.stdin, "run", "no input"), present(program.stdout, "run", "no output")
            source.write(request.packed() + request.text)
            source.close()
            try:
                yield from _told(iter(lambda: _record(sink), None))
            finally:
                program.kill()


def _record(stream: object) -> tuple[int, float, bytes]:
    head = stream.read(RECORD.size)  # type: ignore[attr-defined]
    if len(head) != RECORD.size:
        raise InternalError("run", "the program ended without a word")
    number, nanoseconds, size = RECORD.unpack(head)
    return number, nanoseconds * 1e-9, stream.read(size)  # type: ignore[attr-defined]


def _told(records: Iterator[tuple[int, float, bytes]]) -> Iterator[Event]:
    count, seconds, _ = next(records)
    _check(count)
    yield Read(count, seconds)
    for token, took, piece in records:
        if token in (END, FULL):
            return
        _check(token)
        yield Said(token, piece, took)


def _check(number: int) -> None:
    if number < 0:
        raise CompileError("prompt", PROBLEMS.get(number, f"error {number}"), "give a shorter one")


class SocSession:
    """On the target's virtual SoC."""

    counts_cycles: ClassVar[bool] = True

    def __init__(self, model: ModelC, cc: str | None = None) -> None:
        self.model = model
        self.writer = model.modes.decoding
        self.target = self.writer.schedule.target
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        program = {CLUSTER_PROGRAM: (FOLDER / CLUSTER_PROGRAM).read_text(), "program_prepare.h": prepare_header(model)}
        _write(self.folder, model, program)
        (self.folder / "runtime/program.c").unlink()
        self.elf = self._build(cc)
        # The simulator is built once, which takes a while: before the first word, not in the middle of a text.
        Simulator(self.target.platform).close()

    def _build(self, cc: str | None) -> Path:
        compiler, program = find_cross_compiler(cc), self.folder / "program.elf"
        tiles = [writer.schedule for writer in self.model.modes.writers.values()]
        each = max([TEXT_STACK, *(one.stacks.each for one in tiles)])
        moving = max(one.stacks.dma_core for one in tiles)
        flags = [*self.target.flags, *WARNINGS, f"-DTW_CORES={tiles[0].cores}", "-I", "runtime/libc"]
        stacks = [f"-DTW_STACK_BYTES={each}", f"-DTW_DMA_CORE_STACK_BYTES={moving}"]
        stacks += ["-DTW_STACKS_IN_L1"] if all(one.stacks.in_tile_memory for one in tiles) else []
        options = {".c": flags, ".S": [*flags, *stacks]}
        sources = sorted(path for path in self.folder.rglob("*") if path.suffix in options)
        # Kernels and the runtime are compiled as `run` compiles them, which has only one network.
        shared = [path for path in sources if path.relative_to(self.folder).parts[0] in ("kernels", "runtime")]
        own = {path: [*options[path.suffix], "-I", "."] for path in sources}
        chosen = own | {path: options[path.suffix] for path in shared}
        objects = compile_objects(chosen, self.folder, compiler)
        link = [*self.target.flags, "-static", "-T", LINK_SCRIPT, "-Wl,--gc-sections"]
        link_objects(objects, [], program, compiler, link)
        program.write_bytes(load_in_place(program.read_bytes()))
        return program

    def talk(self, request: Request) -> Iterator[Event]:
        simulator = Simulator(self.target.platform)
        simulator.load(self.elf)
        before = come_to(simulator, "main")
        simulator.write("tw_asked", request.packed())
        simulator.write("tw_text", request.text)
        after = come_to(simulator, "tw_prompt_done")
        count = _signed(simulator.read_word("tw_prompt_tokens"))
        _check(count)
        yield Read(count, *self._spent(simulator, before, after))
        while True:
            before, after = after, come_to(simulator, "tw_token_done")
            token = _signed(simulator.read_word("tw_token"))
            if token in (END, FULL):
                return
            _check(token)
            size = simulator.read_word("tw_piece_bytes")
            yield Said(token, simulator.read("tw_piece", size) if size else b"", *self._spent(simulator, before, after))

    def _spent(self, simulator: Simulator, before: Activity, after: Activity) -> tuple[float, int, Energy | None]:
        done = after.since(before)
        cycles, energy = done.cycles_read_as(simulator.read_word("tw_cycles")), simulator.energy_of(done)
        hertz = energy.hertz if energy else 1
        return cycles / hertz, cycles, energy


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


def _write(folder: Path, model: ModelC, more: Mapping[str, str]) -> None:
    """All files of a program; constants never are text here, and models share the objects of kernels that do not have
    their names."""
    sources, data = model.constant_bytes()
    for name, text in {**model.texts(), **sources, **more, f"kernels/{PREFIX_FILE}": ""}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    for name, one in data.items():
        (folder / name).write_bytes(one)
