"""A model on a target's virtual SoC, token by token."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tilewright.errors import CompileError
from tilewright.language.building import write_sources
from tilewright.language.folder import CLUSTER_PROGRAM, FOLDER, TEXT_STACK, ModelC, prepare_header
from tilewright.language.memory_use import used_bytes
from tilewright.language.summary import Summary
from tilewright.language.talking import Event, Read, Request, Said
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS, come_to
from tilewright.sim.activity import Activity
from tilewright.sim.energy import Energy
from tilewright.sim.program.elf import load_in_place
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import compile_objects, find_cross_compiler, link_objects

END, FULL = -100, -1
"""What C gives behind the last token, and where the context is full."""
PROBLEMS = {
    -1: "the context does not hold all of its tokens", -2: "has a token outside the vocabulary",
    -3: "has no tokens at all", -4: "a network or the sampler refused its arguments",
}  # fmt: skip


def _check(number: int) -> None:
    if number < 0:
        raise CompileError("prompt", PROBLEMS.get(number, f"error {number}"), "give a shorter one")


class SocSession:
    """On the target's virtual SoC."""

    counts_cycles: ClassVar[bool] = True

    def __init__(self, model: ModelC, summary: Summary, cc: str | None = None) -> None:
        self.model = model
        self.writer = model.modes.decoding
        self.target = self.writer.schedule.target
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        program = {CLUSTER_PROGRAM: (FOLDER / CLUSTER_PROGRAM).read_text(), "program_prepare.h": prepare_header(model)}
        sources, data = model.constant_bytes()
        write_sources(self.folder, {**model.texts(), **model.tokenizer_texts(), **sources, **program})
        for name, one in data.items():
            (self.folder / name).write_bytes(one)
        (self.folder / "runtime/program.c").unlink()
        self.elf = self._build(cc)
        self.summary = replace(summary, bytes=used_bytes(model, self.elf))
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

    @property
    def _accelerators(self) -> tuple[str, ...]:
        """Those of the user's that compute something."""
        layers = [layer for writer in self.model.modes.writers.values() for layer in writer.schedule.layers]
        names = {model.name for model in self.target.models}
        return tuple(dict.fromkeys(layer.engine for layer in layers if layer.engine in names))

    def _spent(self, simulator: Simulator, before: Activity, after: Activity) -> tuple[float, int, Energy | None]:
        done = after.since(before)
        cycles, energy = done.cycles_read_as(simulator.read_word("tw_cycles")), simulator.energy_of(done)
        if energy is not None:
            # How often which of its programs was called, this does not know.
            energy = replace(energy, uncounted=self._accelerators)
        hertz = energy.hertz if energy else 1
        return cycles / hertz, cycles, energy


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word
