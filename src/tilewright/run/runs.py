"""A compiled network where it runs: one interface, and its implementation for each runner that a machine may have."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.run.board import BoardProgram
from tilewright.run.builds import Builds
from tilewright.run.host import TENSORS, TIMES, HostProgram, HostRun, emulated
from tilewright.run.library import HostLibrary
from tilewright.run.model_inputs import refuse_large_arena, refuse_too_large
from tilewright.run.result import OnComputer, Result
from tilewright.run.simulated import SocRun
from tilewright.run.soc import SocProgram
from tilewright.run.steps import stacked
from tilewright.target.runner import GpuProcess, HostProcess, Runner, VirtualSoc, host_process

Feeds = Mapping[str, Array]


@dataclass(frozen=True)
class Runs(ABC):
    """What is built is kept; `per_layer` asks for every tensor that a layer makes."""

    schedule: Schedule
    builds: Builds
    doing: ClassVar[str]
    """What a run is, for whoever waits."""

    @property
    def _where(self) -> str:
        return f"target {self.schedule.target.name}"

    @abstractmethod
    def prepare(self) -> None:
        """Makes what has to be there once on this machine, whatever the program: no part of a program's time."""

    @abstractmethod
    def build(self, feeds: Feeds, per_layer: bool) -> None:
        """What the first run would compile."""

    @abstractmethod
    def run(self, feeds: Feeds, repeats: int, per_layer: bool) -> Result:
        """One call of the network."""

    @abstractmethod
    def run_steps(self, feeds: Sequence[Feeds], repeats: int) -> Result:
        """Calls in order, what the network keeps living from one to the next."""

    @property
    @abstractmethod
    def keeps_tensors(self) -> bool:
        """Whether what a layer makes lives long enough to be looked at."""

    @abstractmethod
    def elf(self, feeds: Feeds) -> Path:
        """The program for a chip, with these inputs in it."""

    @abstractmethod
    def library(self) -> HostLibrary:
        """The network as a library for a process of this machine."""

    @abstractmethod
    def profiled(self) -> HostProgram | BoardProgram | SocProgram:
        """The program whose layers can be watched."""


class HostRuns(Runs):
    """In processes of this machine."""

    doing = "running"
    keeps_tensors = True

    def prepare(self) -> None:
        """Nothing."""

    def build(self, feeds: Feeds, per_layer: bool) -> None:
        self._program(per_layer)

    def _program(self, per_layer: bool = False) -> HostProgram:
        refuse_too_large(self.schedule.graph)
        return self.builds.host(TENSORS if per_layer else "")

    def run(self, feeds: Feeds, repeats: int, per_layer: bool) -> Result:
        ran = self._program(per_layer).run(feeds, repeats)
        outputs = self.schedule.graph.outputs_by_name(ran.outputs)
        return Result(outputs, ran.seconds, ran.layers, here=self._taken(ran))

    def run_steps(self, feeds: Sequence[Feeds], repeats: int) -> Result:
        ran = self._program().run_steps(feeds, repeats)
        outputs = stacked([self.schedule.graph.outputs_by_name(one.outputs) for one in ran])
        return Result(outputs, ran[0].seconds, {}, steps=len(feeds), here=self._taken(ran[0]))

    def _taken(self, ran: HostRun) -> OnComputer:
        target = self.schedule.target
        is_loadable = host_process(target.runner).cpu and emulated(target) is None
        library = self.builds.library().path.stat().st_size if is_loadable else None
        return OnComputer(ran.fastest, target.agents.threads, ran.resident_bytes, library)

    def elf(self, feeds: Feeds) -> Path:
        raise CompileError("--elf", f"{self._where} runs on this machine", "choose a target with a virtual SoC")

    def library(self) -> HostLibrary:
        refuse_large_arena(self.schedule)
        return self.builds.library()

    def profiled(self) -> HostProgram:
        if not self.schedule.target.runner.unit:
            raise CompileError(
                f"target '{self.schedule.target.name}'",
                "runs on this machine, without a profile of its layers",
                "target cpu has times on this machine, simulated targets have cycles: `tilewright targets` lists them",
            )
        refuse_too_large(self.schedule.graph)
        return self.builds.host(TIMES)


class SocRuns(Runs):
    """On a simulated chip, whose cycles count."""

    doing = "simulating"

    def prepare(self) -> None:
        """The simulator."""
        self.schedule.target.machine().close()

    @property
    def keeps_tensors(self) -> bool:
        return self.builds.soc().keeps_tensors

    def build(self, feeds: Feeds, per_layer: bool) -> None:
        self.builds.soc().build(feeds)

    def run(self, feeds: Feeds, repeats: int, per_layer: bool) -> Result:
        self.prepare()
        start, program = time.perf_counter(), self.builds.soc()
        done, layers = program.run(feeds), program.layers(feeds) if per_layer else {}
        return self._result([done], start, layers)

    def run_steps(self, feeds: Sequence[Feeds], repeats: int) -> Result:
        self.prepare()
        start = time.perf_counter()
        done = self.builds.soc().run_steps(feeds)
        outputs = stacked([self.schedule.graph.outputs_by_name(one.outputs) for one in done])
        cycles = tuple(one.cycles for one in done)
        return replace(self._result(done, start, {}), outputs=outputs, step_cycles=cycles, steps=len(feeds))

    def _result(self, done: Sequence[SocRun], start: float, layers: Mapping[str, Array]) -> Result:
        """Of the last call."""
        last = done[-1]
        outputs, more = self.schedule.graph.outputs_by_name(last.outputs), self.builds.soc().counted(last)
        seconds = time.perf_counter() - start
        return Result(outputs, seconds, dict(layers), last.cycles, last.energy, soc=last, **more)

    def elf(self, feeds: Feeds) -> Path:
        return self.builds.soc().build(feeds)

    def library(self) -> HostLibrary:
        raise CompileError(self._where, "does not run in this process", "compile with target='cpu'")

    def profiled(self) -> BoardProgram | SocProgram:
        return self.builds.soc()


RUNS: Mapping[type[Runner], type[Runs]] = {HostProcess: HostRuns, GpuProcess: HostRuns, VirtualSoc: SocRuns}


def runs_of(schedule: Schedule, builds: Builds) -> Runs:
    return RUNS[type(schedule.target.runner)](schedule, builds)
