"""A training from its files to a loop that was checked, on one page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from tilewright import targets
from tilewright.codegen import folder
from tilewright.errors import CompileError
from tilewright.ir.types import Array, TensorType
from tilewright.pipeline import Compiled
from tilewright.records import dataclass
from tilewright.target.settings import DEFAULT, Settings
from tilewright.training.batches import Batches, read_batches
from tilewright.training.budget import within
from tilewright.training.checking import Checked, Expected, check, read_expected
from tilewright.training.compiling import Learner, compile_alone, compile_training
from tilewright.training.descend import descending
from tilewright.training.folder import LearnerC
from tilewright.training.graphs import Training
from tilewright.training.in_step import check_accumulated, updated_in_step
from tilewright.training.loop import reference, run
from tilewright.training.peer_graphs import read_graphs
from tilewright.training.plan import MemoryPlan, plan_of
from tilewright.training.recompute import Activation
from tilewright.training.session import Session
from tilewright.training.sessions import session

Progress = Callable[[str], None]


def read_data(path: Path) -> Batches:
    return read_batches(path)


def read(train: Path, optimizer: Path, batches: Batches, in_place: bool = False) -> Training:
    found = read_graphs(train, optimizer, batches)
    if not in_place:
        return found
    check_accumulated(batches.accumulated)
    return updated_in_step(found)


def input_types(training: Training) -> dict[str, TensorType]:
    """Of what each step is given."""
    return {name: training.train.types[name] for name in training.train.inputs}


def in_bytes(text: str) -> int | None:
    """65536, 64k or 1M as bytes; None where nothing is asked for."""
    if not text:
        return None
    found = re.fullmatch(r"(\d{1,10})([km]?)(i?b)?", text.lower())
    if found is None or not int(found[1]):
        raise CompileError(f"--ram {text}", "is no number of bytes", "for example --ram 65536 or --ram 64k")
    return int(found[1]) * {"": 1, "k": 1024, "m": 1024 * 1024}[found[2]]


def compiled(
    training: Training, target: str = "generic", name: str = "", settings: Settings = DEFAULT, ram: int | None = None
) -> TrainingProgram:
    """With `ram`, activations are computed again until a step needs no more bytes."""
    training = descending(training, targets.find(target))
    compile_ = partial(compile_training, target=target, name=name, settings=settings)
    found = within(training, ram, compile_, partial(compile_, in_little_ram=("infer",)))
    return TrainingProgram(found.learner, settings, found.said, found.activations)


@dataclass(frozen=True)
class TrainingProgram:
    """What is compiled: run it, check it, save its C."""

    learner: Learner
    settings: Settings = DEFAULT
    recomputed: str = ""
    kept: tuple[Activation, ...] = ()
    """What the way back reads of the way forward."""

    @property
    def name(self) -> str:
        return self.learner.name

    @property
    def target(self) -> str:
        return self.learner.target.name

    @cached_property
    def in_c(self) -> LearnerC:
        return LearnerC(self.learner)

    @cached_property
    def alone(self) -> Compiled | None:
        """Inference by itself."""
        return compile_alone(self.learner, self.settings)

    def plan(self) -> MemoryPlan:
        return plan_of(self.learner, 2 * self.in_c.slot_bytes, self.alone, self.recomputed, self.kept)

    def save(self, path: Path) -> list[str]:
        """Write the C into a folder, which appears whole or not at all; the names of its files."""
        texts = self.in_c.texts()
        folder.write(texts, path, own={name.partition("/")[0] for name in texts})
        return sorted(texts)

    def session(self, cc: str | None = None) -> Session:
        """One that runs, with the first weights."""
        return session(self.in_c, cc)

    def check(
        self, steps: Sequence[Mapping[str, Array]], accumulated: int, expect: Path | None = None,
        tolerance: float = 1e-4, progress: Progress = lambda what: None, cc: str | None = None,
    ) -> Checked:  # fmt: skip
        """Steps and updates, compared with a file or with numpy."""
        training = self.learner.training
        expected = None if expect is None else read_expected(expect, training, len(steps))
        progress("compiling the C")
        trained = run(self.session(cc), steps, accumulated, progress)
        if expected is None:
            progress("computing the reference")
            expected = Expected.of(reference(self.learner, steps, accumulated))
        return check(training, trained, expected, tolerance)
