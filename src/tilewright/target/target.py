"""What a target is made of: plain data that the generic stages read. Generic code never names a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.passes import Pass
from tilewright.records import dataclass
from tilewright.sim.platform import Platform
from tilewright.sim.simulator import Simulator
from tilewright.target.agents import Agents
from tilewright.target.costs import Costs
from tilewright.target.kernel import Kernel, Types
from tilewright.target.memory import Link, Memory, Paths, paths
from tilewright.target.peak import Peak
from tilewright.target.processors import PROCESSORS
from tilewright.target.runner import HostProcess, Machine, Model, Runner, virtual_soc, with_models

PACKAGE = Path(__file__).parents[1]
"""Its files stay the same for as long as a process runs; a user's may change between two networks."""

COSTS_OF_A_FAMILY = "costs"
"""The folder of what was measured, where several targets share theirs."""


@dataclass(frozen=True, eq=False)
class Offer:
    """A node as an engine would compute it: with an operator of its own, and constants in the form that it wants."""

    op: Op
    inputs: tuple[str, ...]
    """Tensors of the graph and names in `constants`; the results are those of the node."""
    constants: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Transfers:
    """Kernels that copy a tensor from where the cores work to the memory of an engine, and back."""

    into: Kernel
    out_of: Kernel


@dataclass(frozen=True)
class Engine:
    """Something that runs kernels: a core, a cluster, an accelerator."""

    name: str
    kernels: tuple[Kernel, ...]
    offer: Callable[[Graph, Node], Offer] | None = None
    """What it makes of a node, or a `Refusal` that says why not; without it the kernels take nodes as they are."""
    forms: Callable[[Graph, Node], Sequence[Offer]] | None = None
    """Other forms in which its kernels take a node besides, for a planner that knows what each of them costs; without
    one, the first is preferred to the node as it is."""
    early_passes: Callable[[str], tuple[Pass, ...]] | None = None
    """Rewrites of the reference to operators of its own, before all others, for one of the goals of `--optimise`."""
    passes: tuple[Pass, ...] = ()
    """Rewrites of a lowered graph to operators of its own, before those of the target."""
    late_passes: tuple[Pass, ...] = ()
    """Rewrites of several nodes to one that it computes, after those of the target."""
    stored_passes: tuple[Pass, ...] = ()
    """Rewrites that ask how elements are stored, after floats are in 16 bits where that was asked for."""
    explain_skipped: Callable[[Graph, Node], str] | None = None
    """Why these have left a node as it is."""
    base_alignment: int = 1
    """What the places of all tensors and buffers are multiples of, in memories that it reaches."""
    peak: Peak | None = None
    """What it does in a cycle at best; None where that is not known."""
    extended: Callable[[Engine, frozenset[str]], Engine] | None = None
    """This engine with kernels for instructions that a user adds, by the names of the patterns that these implement."""
    transfers: Transfers | None = None
    """Of an engine that works in a memory of its own; without them it works where the cores do."""

    def kernels_of(self, op: Op) -> Sequence[Kernel]:
        """Those for an operator, in order of preference."""
        return self._kernels_by_op.get(type(op), ())

    @cached_property
    def _kernels_by_op(self) -> dict[type[Op], list[Kernel]]:
        found: dict[type[Op], list[Kernel]] = {}
        for kernel in self.kernels:
            found.setdefault(kernel.op, []).append(kernel)
        return found


@dataclass(frozen=True, eq=False)
class ExternalKernels:
    """Kernels from outside the package: where their files lie, and what they need of a library that they call."""

    name: str
    """Of their engine, and of the library's folder among the kernels of the output."""
    folder: Path
    files: Mapping[str, Path]
    """Sources and headers, by their names."""
    flags: tuple[str, ...]
    """For the compiler, for them and for the library."""
    includes: tuple[str, ...]
    """Folders of the library that they find headers in."""
    library: Callable[[Iterable[str]], Mapping[str, Path]]
    """Files of the library that these sources need, by their paths in it."""
    reasons: Mapping[str, str]
    """Why operators have no kernel here."""


@dataclass(frozen=True)
class Target:
    name: str
    summary: str
    engines: tuple[Engine, ...]
    memories: tuple[Memory, ...]
    folder: Path
    """Where `kernels/` and, without an operating system, `runtime/` lie."""
    bases: tuple[Path, ...] = ()
    """Folders whose kernels and runtime it also uses; the first that has a file counts."""
    links: tuple[Link, ...] = ()
    """Between memories; see `is_tiled`."""
    agents: Agents = field(default_factory=Agents)
    runner: Runner = field(default_factory=HostProcess)
    flags: tuple[str, ...] = ()
    """Compiler flags beyond the language standard."""
    libraries: tuple[str, ...] = ()
    costs: Costs = field(default_factory=Costs)
    kept_costs: Callable[[], Path] | None = None
    """Where those of this machine are kept, of a target that is measured on the user's own."""
    stacks: Mapping[str, int] = field(default_factory=dict)
    """Bytes of stack that a call needs, by the kernel's stem."""
    passes: tuple[Pass, ...] = ()
    """Rewrites that bring a lowered graph into the form that the target's kernels want, in order."""
    reference_passes: tuple[Pass, ...] = ()
    """Rewrites of the quantised graph before the reference is taken."""

    has_lengths: bool = False
    """Whether sizes of a network may be arguments of its program."""
    has_short_caches: bool = False
    """Whether its attention reads keys and values that are kept as float16."""
    language_models: bool = True
    """Whether programs around several networks, as language models are, can be built for it."""

    half_floats: tuple[str, ...] = ()
    """Element types of 16 bits that floats may be stored in, where a kernel takes them."""

    for_processor: Callable[[str], Target] | None = None
    """This target for another processor, where it is for computers."""

    in_unicorn: Callable[[], Target] | None = None
    """The target that takes its place with --emulator unicorn, where that does not have the core; None without one."""
    prepare: Callable[[Any, str], tuple[Any, tuple[str, ...]]] | None = None
    """What another compiler makes of a model before it is read, for one of the goals of `--optimise`, and notes on
    that."""

    models: tuple[Model, ...] = ()
    """Of the devices that a user has added to its platform."""
    alternatives: Callable[[Target, frozenset[tuple[str, str]]], tuple[Target, ...]] | None = None
    """This target with other passes, where plans decide which ones are best: made of engine and name of each layer of
    one plan."""
    external_kernels: tuple[ExternalKernels, ...] = ()
    """Where kernels that a user has added come from."""
    model_passes: tuple[Pass, ...] = ()
    """On a graph as imported, before it becomes integers."""
    numerics: str = "exact"
    """Requantisations of ONNX networks, whose format defines no rounding: exact, the hardware's own in 32 bits, or
    those of `hardware` (own)."""
    hardware: tuple[Pass, ...] = ()
    """What makes a quantised graph the hardware's own; without them, requantisations in 32 bits."""

    @property
    def costs_file(self) -> Path:
        """Where its measured costs are: members of a family have a file each; a computer's are not this package's."""
        if self.kept_costs is not None:
            return self.kept_costs()
        family = self.folder / COSTS_OF_A_FAMILY
        return family / f"{self.name}.json" if family.is_dir() else self.folder / "costs.json"

    @property
    def definitions(self) -> tuple[str, ...]:
        """Of its flags, those that any compiler has to be told, in whatever project."""
        return tuple(flag for flag in self.flags if flag.startswith("-D"))

    @cached_property
    def paths(self) -> Paths:
        """How data of its memories comes to where cores work; without links it is there."""
        return paths(self.memories, self.links)

    @property
    def for_every_processor(self) -> tuple[Target, ...]:
        """This target for each known processor, whichever this machine has; itself where it is for no computer."""
        return tuple(map(self.for_processor, PROCESSORS)) if self.for_processor else (self,)

    @property
    def all_passes(self) -> tuple[Pass, ...]:
        """All rewrites that its kernels and engines ask for, in order."""
        first = (one for engine in self.engines for one in engine.passes)
        return (*first, *self.passes, *(one for engine in self.engines for one in engine.late_passes))

    def early_passes(self, goal: str) -> tuple[Pass, ...]:
        """Those that come before any other changes the reference."""
        return tuple(one for engine in self.engines if engine.early_passes for one in engine.early_passes(goal))

    @property
    def stored_passes(self) -> tuple[Pass, ...]:
        """Those that come when all elements have the types in which they are stored."""
        return tuple(one for engine in self.engines for one in engine.stored_passes)

    @property
    def platform(self) -> Platform:
        """The simulated SoC that programs for this target run on."""
        return virtual_soc(self.runner, f"target {self.name}").chip

    @property
    def steps_down_gradients(self) -> bool:
        """Whether a kernel may update a weight while it computes its gradient: no tile reads what another changed."""
        return not self.is_tiled

    @property
    def is_tiled(self) -> bool:
        """Whether links bring what cores work on: layers are cut into tiles, and a plan weighs kernels, forms of
        weights and engines by what they and the transfers take."""
        return bool(self.links)

    @property
    def work_memory(self) -> Memory:
        """Where kernels compute: that of the tiles, or the one that has the arena."""
        return self.paths.tiles

    @property
    def home_memory(self) -> Memory:
        """Where tensors live, inputs and outputs too: the one that tiles are cut out of, or that of the arena."""
        return self.paths.home

    def on_platform(self, platform: Platform, state: int) -> Target:
        """This target on another chip, with so many bytes more for variables of the runtime."""
        runner = virtual_soc(self.runner, f"target {self.name}").on(platform)
        return replace(self, runner=runner, agents=replace(self.agents, state=self.agents.state + state))

    def machine(self) -> Machine:
        """What its programs run on: the virtual SoC, or what emulates its core."""
        return virtual_soc(self.runner, f"target {self.name}").machine(self.models)

    def simulator(self) -> Simulator:
        """Its virtual SoC with all devices that a user has added."""
        return with_models(Simulator(self.platform), self.models)

    def applies(self, activation: type[Op], op: type[Op]) -> bool:
        """Whether all kernels of floats for an operator apply an activation to its results."""
        kernels = [kernel for engine in self.engines for kernel in engine.kernels if kernel.op is op]
        return all(activation in kernel.activations for kernel in kernels if kernel.takes_floats)

    def fuses(self, op: Op, types: Types) -> bool:
        """Whether it computes an operator better than what it stands for: on a cluster with a kernel for all cores
        together, where it has such kernels."""
        kernels = [kernel for engine in self.engines for kernel in engine.kernels]
        together = [kernel for kernel in kernels if kernel.cooperative and self.agents.has_runtime]
        own = together or kernels
        return any(kernel.op is type(op) and kernel.takes(op, types) for kernel in own)

    def kernel_file(self, name: str) -> Path:
        """A source or header of the kernels."""
        added = (one.files[name] for one in self.external_kernels if name in one.files)
        return next(added, None) or self._file("kernels", name)

    def kernel_text(self, name: str) -> str:
        """What it says; it is read once."""
        if name not in self._texts:
            self._texts[name] = _text(self.kernel_file(name))
        return self._texts[name]

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {}

    def host_file(self, name: str) -> Path:
        """A source of the program that runs a network on this machine."""
        return self._file("host", name)

    def runtime_file(self, name: str) -> Path:
        """A source of what is around kernels."""
        return self._file("runtime", name)

    @cached_property
    def runtime_texts(self) -> Mapping[str, str]:
        """What the files of the runtime say."""
        return {name: _text(path) for name, path in self.runtime_files().items()}

    def bench_file(self, name: str) -> Path:
        """What boots a program that measures kernels."""
        return self._file("bench_runtime", name)

    def _file(self, kind: str, name: str) -> Path:
        """The first of its folders that has it."""
        find = _first_once if all(map(_is_installed, self.folders)) else _first
        return find(self.folders, kind, name)

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Its own before those that it shares with others."""
        return (self.folder, *self.bases)

    def runtime_files(self) -> dict[str, Path]:
        """Sources, headers and linker scripts of the runtime, by their names in it."""
        return {
            path.relative_to(folder / "runtime").as_posix(): path
            for folder in reversed(self.folders)
            for path in sorted((folder / "runtime").rglob("*"))
            if path.suffix in (".c", ".h", ".S", ".ld")
        }


@cache
def _is_installed(path: Path) -> bool:
    return path.is_relative_to(PACKAGE)


def _first(folders: Sequence[Path], kind: str, name: str) -> Path:
    places = [folder / kind / name for folder in folders]
    return next((path for path in places if path.is_file()), places[-1])


_first_once = cache(_first)


def _text(path: Path) -> str:
    return _text_once(path) if _is_installed(path) else path.read_text(encoding="utf-8")


@cache
def _text_once(path: Path) -> str:
    return path.read_text(encoding="utf-8")
