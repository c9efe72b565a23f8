"""The instructions that would save most on some networks: proposed from what their hot blocks compute, then measured.

Two kinds are proposed. A part of a block (`instruction/search/cones.py`) is measured in the linked program, rewritten
to have the instruction. A pattern of kernels (`instruction/patterns.py`) needs data in another order, which no
rewriting of code gives: it is measured in the program that is compiled with it. All run on the simulator, and outputs
are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tilewright import targets
from tilewright.codegen.folder import write
from tilewright.errors import CompileError, InternalError
from tilewright.instruction.declaration import DECLARATION, Instruction, read_instruction
from tilewright.instruction.patterns import PATTERNS
from tilewright.instruction.search.blocks import Block, blocks_of
from tilewright.instruction.search.cones import BlockParts, apart
from tilewright.instruction.search.pattern_uses import predicted_by_patterns
from tilewright.instruction.search.rewriting import may_move, rewritten
from tilewright.instruction.semantics import simulated
from tilewright.ir.types import Array
from tilewright.program import Progress, compile_model, silent
from tilewright.records import dataclass
from tilewright.run.board import BoardProgram
from tilewright.run.footprint import paint_stack
from tilewright.sim.program.elf import parse_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.runner import virtual_soc
from tilewright.target.settings import Settings, check_options, with_options

COVERED = 0.995
"""Of all executed instructions: the blocks that are looked at."""
FUNCT7 = 64
"""Of instructions that are found, in custom-1; funct3 goes from 0 to 7."""
MOST = 8


@dataclass(frozen=True)
class Measured:
    """A program that has run."""

    instructions: int
    cycles: int
    outputs: Mapping[str, Array]
    blocks: Mapping[int, tuple[Block, int]]
    """By address: hot blocks, and how often each was executed."""


@dataclass(frozen=True)
class Subject:
    """A network as compiled, with its inputs."""

    name: str
    program: BoardProgram
    inputs: Mapping[str, Array]
    own: tuple[Instruction, ...]
    """That it was compiled with."""

    @cached_property
    def linked(self) -> bytes:
        return self.program.build(self.inputs).read_bytes()

    def ran(self, wanted: Mapping[str, Instruction], hot: frozenset[int]) -> Measured:
        """With these instructions in the blocks that begin there."""
        data = rewritten(self.linked, wanted, self.own, hot) if wanted else self.linked
        elf, known = parse_elf(data, self.name), (*self.own, *wanted.values())
        platform = virtual_soc(self.program.target.runner, "instruction find").chip
        with Simulator(replace(platform, instructions=tuple(map(simulated, known)))) as simulator:
            simulator.load(elf)
            paint_stack(simulator)
            blocks = sorted(blocks_of(elf, known), key=lambda block: block.start)
            ends = {block.end for block in blocks} - {block.start for block in blocks}
            places = sorted({block.start for block in blocks} | ends)
            simulator.count_from(places)
            done = self.program.run_loaded(simulator, elf)
            counts = dict(zip(places, simulator.counted(), strict=True))
        return Measured(done.instructions, done.cycles, done.outputs, _hot(blocks, counts))


def _hot(blocks: Sequence[Block], counts: Mapping[int, int]) -> dict[int, tuple[Block, int]]:
    found, seen, total = {}, 0, sum(counts.values())
    for block in sorted(blocks, key=lambda one: -counts[one.start]):
        executed = counts[block.start] // len(block.code)
        if seen >= COVERED * total or not executed:
            break
        found[block.start] = (block, executed)
        seen += counts[block.start]
    return found


@dataclass(frozen=True)
class Proposal:
    instruction: Instruction
    how: str
    """REWRITTEN or COMPILED."""
    predicted: int
    """Instructions saved, of all networks together, beside those that were chosen before."""
    measured: int
    text: str
    """Of its declaration."""


REWRITTEN, COMPILED = "rewritten", "compiled"


@dataclass(frozen=True)
class Searched:
    target: str
    proposals: tuple[Proposal, ...]
    before: Mapping[str, Measured]
    after: Mapping[str, Measured]

    def write(self, folder: Path) -> list[Path]:
        """The declarations, each in a folder of its own."""
        texts = {f"{one.instruction.name}/{DECLARATION}": one.text for one in self.proposals}
        write(texts, folder)
        return [folder / name for name in texts]

    def as_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "proposals": [
                {
                    "name": one.instruction.name, "semantics": one.instruction.semantics, "how": one.how,
                    "operands": list(one.instruction.operands), "predicted": one.predicted, "measured": one.measured,
                }
                for one in self.proposals
            ],
            "networks": {
                name: {
                    "before": was.instructions, "after": self.after[name].instructions,
                    "cycles_before": was.cycles, "cycles_after": self.after[name].cycles,
                }
                for name, was in self.before.items()
            },
        }  # fmt: skip


@dataclass
class _Search:
    models: Sequence[Path]
    target: str
    settings: Settings
    folder: Path
    progress: Progress = silent
    only_blocks: bool = False
    compiled: list[Instruction] = field(default_factory=list)
    wanted: dict[str, Instruction] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    """Semantics, and names of patterns, that have not helped."""

    def subjects(self) -> list[Subject]:
        places = [str(Path(one.place).parent) for one in self.compiled]
        settings = with_options(self.settings, {"instructions": places}) if places else self.settings
        return [self._subject(model, settings) for model in self.models]

    def _subject(self, model: Path, settings: Settings) -> Subject:
        self.progress(f"compiling {model.name}")
        program = compile_model(model, target=self.target, settings=settings)
        built = program.build_soc()
        if not isinstance(built, BoardProgram):
            what = "has a cluster, whose programs are not searched"
            raise CompileError(f"target {self.target}", what, "choose rv32 or one of its family")
        return Subject(model.stem, built, program.random_inputs(), tuple(self.compiled))

    def ran(self, subjects: Sequence[Subject], hot: Mapping[str, frozenset[int]]) -> dict[str, Measured]:
        found = {}
        for one in subjects:
            self.progress(f"running {one.name}")
            found[one.name] = one.ran(self.wanted, hot.get(one.name, frozenset()))
        return found

    def candidates(self, now: Mapping[str, Measured]) -> Counter[str]:
        """Semantics of parts, and names of patterns: instructions that they would save, of all networks."""
        found: Counter[str] = Counter()
        for measured in now.values():
            for block, executed in measured.blocks.values():
                for semantics, saved in _by_semantics(block).items() if may_move(block) else ():
                    found[semantics] += saved * executed
            found.update(Counter() if self.only_blocks else predicted_by_patterns(measured.blocks.values()))
        known = {*self.refused, *self.wanted, *(one.implements for one in self.compiled)}
        return Counter({name: saved for name, saved in found.items() if name not in known and saved > 0})

    def declared(self, name: str) -> Instruction:
        """A declaration in the folder."""
        pattern = PATTERNS.get(name)
        number = len(self.wanted) + len(self.compiled) + len(self.refused)
        if pattern is not None:
            text = _toml(name, f'custom-0"\nfunct3 = {number % MOST}', pattern.operands, pattern.semantics)
            return self._written(name, text + f'implements = "{name}"\n')
        at = f'custom-1"\nfunct3 = {number % MOST}\nfunct7 = {FUNCT7 + number // MOST}'
        return self._written(f"found{number}", _toml(f"found{number}", at, _operands(name), name))

    def _written(self, name: str, text: str) -> Instruction:
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / DECLARATION).write_text(text)
        return read_instruction(str(place))


def _operands(semantics: str) -> tuple[str, ...]:
    return ("rd+" if "rd." in semantics else "rd", "rs1", *["rs2"] * ("rs2." in semantics))


def _toml(name: str, opcode: str, operands: Sequence[str], semantics: str) -> str:
    listed = ", ".join(f'"{operand}"' for operand in operands)
    return f'name = "{name}"\nopcode = "{opcode}\noperands = [{listed}]\nsemantics = "{semantics}"\n'


def _by_semantics(block: Block) -> dict[str, int]:
    """What one execution of a block would save, by what an instruction would compute."""
    found: dict[str, list[Any]] = {}
    for cone in BlockParts(block).cones():
        found.setdefault(cone.semantics, []).append(cone)
    return {text: sum(cone.saved for cone in apart(cones[::-1])) for text, cones in found.items()}


def searched(
    models: Sequence[Path], target: str, settings: Settings, folder: Path, count: int, progress: Progress = silent,
    only_blocks: bool = False,
) -> Searched:  # fmt: skip
    """The best instruction, then the best one beside it, and so on; drafts of declarations lie in the folder."""
    check_options(targets.find(target), Settings(instructions=(str(folder),)))
    search = _Search(_apart(models), target, settings, folder, progress, only_blocks)
    subjects = search.subjects()
    before = now = search.ran(subjects, {})
    hot = {name: frozenset(one.blocks) for name, one in now.items()}
    proposals: list[Proposal] = []
    while len(proposals) < count and (ranked := search.candidates(now).most_common(1)):
        name, predicted = ranked[0]
        one = search.declared(name)
        was = subjects, hot, now
        if name in PATTERNS:
            search.compiled.append(one)
            subjects = search.subjects()
            plain = {subject.name: subject.ran({}, frozenset()) for subject in subjects}
            hot = {key: frozenset(measured.blocks) for key, measured in plain.items()}
        else:
            search.wanted[name] = one
        now = search.ran(subjects, hot)
        saved = sum(_instructions(was[2])) - sum(_instructions(now))
        _check_outputs(before, now, one)
        if saved <= 0:
            subjects, hot, now = was
            search.refused.add(name)
            search.wanted.pop(name, None)
            search.compiled = [other for other in search.compiled if other is not one]
            continue
        how, text = COMPILED if name in PATTERNS else REWRITTEN, Path(one.place).read_text()
        proposals.append(Proposal(one, how, predicted, saved, text))
    return Searched(target, tuple(proposals), before, now)


def _apart(models: Sequence[Path]) -> Sequence[Path]:
    """Networks are told apart by the names of their files."""
    stems = [model.stem for model in models]
    for number, stem in enumerate(stems):
        if stem in stems[:number]:
            raise CompileError(str(models[number]), f"'{stem}' is the name of two networks", "rename one of the files")
    return models


def _instructions(measured: Mapping[str, Measured]) -> Iterator[int]:
    return (one.instructions for one in measured.values())


def _check_outputs(before: Mapping[str, Measured], now: Mapping[str, Measured], one: Instruction) -> None:
    for name, was in before.items():
        for output, values in was.outputs.items():
            if not np.array_equal(values, now[name].outputs[output]):
                raise InternalError(f"instruction find, {name}", f"{output} differs with {one.semantics}")
