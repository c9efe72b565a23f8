"""Two networks for a cluster in one firmware: one runtime, one array in L1, kernels of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from tests.codegen.test_cmake_symbols import adding
from tests.planner.networks import odd_sizes, quantised_residual
from tests.support.models import residual
from tests.support.quickly import FLAGS
from tests.support.states import cell, shift
from tilewright import pipeline
from tilewright.codegen import folder
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import Compiled
from tilewright.planner.stacks import Stacks
from tilewright.program import Program, compile_model
from tilewright.run.compare import compare
from tilewright.run.simulated import WARNINGS
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import compile_objects, find_cross_compiler, link_objects
from tilewright.version import VERSION

pytestmark = pytest.mark.in_turns(8)

CLUSTERS = ("siracusa", "quad", "snitch", "minpool")
RUNS = 2
"""Of each network, in turn."""


@dataclass(frozen=True)
class Network:
    program: Program
    writer: Writer
    inputs: Mapping[str, Array]

    @staticmethod
    def of(name: str, made: ModelProto, target: str, settings: Settings) -> Network:
        program = compile_model(made, target=target, name=name, settings=settings)
        writer = Writer(program.compiled.schedule, name)
        return Network(program, writer, program.random_inputs())

    @staticmethod
    def with_state(name: str, graph: Graph, target: str) -> Network:
        made = Compiled(*pipeline.stages(graph, target, name, Settings(time_limit=1.0)))
        writer = Writer(made.schedule, name)
        program = Program(made, name, None, 0.0)
        return Network(program, writer, program.random_inputs())

    @property
    def name(self) -> str:
        return self.writer.name

    @property
    def cores(self) -> int:
        return self.writer.schedule.cores

    @property
    def stacks(self) -> Stacks:
        return self.writer.schedule.stacks

    def declared(self) -> str:
        """Its inputs, and its outputs of every run."""
        graph = self.writer.schedule.graph
        lines = [f'#include "{self.name}/network.h"']
        for i, name in enumerate(graph.inputs):
            data = ", ".join(map(str, np.ascontiguousarray(self.inputs[name]).tobytes()))
            lines.append(f"static const uint8_t {self.name}_in_{i}[] __attribute__((aligned(16))) = {{{data}}};")
        for i, name in enumerate(graph.outputs):
            size = graph.types[name].bytes
            lines.append(f"uint8_t {self.name}_out_{i}[{RUNS}][{-(-size // 16) * 16}] __attribute__((aligned(16)));")
        return "\n".join(lines)

    def call(self) -> str:
        graph = self.writer.schedule.graph
        inputs = [f"(const void *){self.name}_in_{i}" for i in range(len(graph.inputs))]
        outputs = [f"(void *){self.name}_out_{i}[run]" for i in range(len(graph.outputs))]
        return f"    if ({self.name}_run({', '.join([*inputs, *outputs])}) != 0) return 1;"


def firmware(place: Path, networks: list[Network], booted: int | None = None) -> Path:
    """Both folders as they are, the runtime of the first one, and a main that runs both in turn. As many cores are
    booted as the larger one needs, unless a number is given."""
    for network in networks:
        folder.write(folder.files(network.writer.schedule, network.name), place / network.name)
    (place / "main.c").write_text(main_text(networks))
    own = [part for network in networks for part in network_objects(place, network)]
    shared = [path for path in (place / networks[0].name / "runtime").rglob("*.[cS]") if path.stem != "program"]
    boot = [f"-DTW_CORES={booted or max(network.cores for network in networks)}", *stacks(networks)]
    options = {path: boot if path.suffix == ".S" else [] for path in sorted(shared)}
    around = ["-I", str(place), "-I", str(place / networks[0].name / "runtime" / "libc")]
    objects = [*own, *compiled(place, networks[0], options), *compiled(place, networks[0], {place / "main.c": around})]
    program, flags = place / networks[0].name / "firmware.elf", networks[0].writer.schedule.target.flags
    link = [*flags, "-static", "-T", "runtime/link.ld", "-Wl,--gc-sections"]
    link_objects(objects, [], program, find_cross_compiler(), link)
    return program


def network_objects(place: Path, network: Network) -> list[Path]:
    """All but the runtime, for the number of cores of the network, whose name is in its kernels: all are compiled."""
    sources = [path for path in (place / network.name).rglob("*.c") if "runtime" not in path.parts]
    own = [f"-DTW_CORES={network.cores}", *FLAGS]
    return compiled(place, network, dict.fromkeys(sorted(sources), own))


def stacks(networks: list[Network]) -> list[str]:
    """Each as large as the network with the larger ones needs."""
    return [
        f"-DTW_STACK_BYTES={max(network.stacks.each for network in networks)}",
        f"-DTW_DMA_CORE_STACK_BYTES={max(network.stacks.dma_core for network in networks)}", "-DTW_STACKS_IN_L1",
    ]  # fmt: skip


def compiled(place: Path, network: Network, sources: Mapping[Path, list[str]]) -> list[Path]:
    """Objects of sources, each with its own options besides those of all. They are the options that programs of single
    networks have, with which they share the objects of the runtime."""
    flags = [*network.writer.schedule.target.flags, *WARNINGS, "-I", "runtime/libc"]
    options = {path: [*flags, *own] for path, own in sources.items()}
    return compile_objects(options, place / network.name, find_cross_compiler())


def main_text(networks: list[Network]) -> str:
    stored = any(network.writer.opened for network in networks)
    prepare = """
  static uint8_t buffer[2048] __attribute__((aligned(16)));
  tw_l3_open();
  tw_l3_fill(tw_l3_image, (uint32_t)(tw_l3_image_end - tw_l3_image), buffer, sizeof buffer);"""
    return "\n".join([
        *(network.declared() for network in networks),
        f'#include "{networks[0].name}/runtime/l3.h"' if stored else "",
        f"int main(void) {{{prepare if stored else ''}",
        *(f"  {network.name}_reset();" for network in networks if network.writer.schedule.graph.states),
        f"  for (int run = 0; run < {RUNS}; run++) {{",
        *(network.call() for network in networks),
        "  }",
        "  return 0;",
        "}\n",
    ])  # fmt: skip


def check_outputs(simulator: Simulator, network: Network) -> None:
    """Every run gave what the reference gives: integers to the bit, floats but for their rounding."""
    graph = network.writer.schedule.graph
    wanted = network.program.reference(network.inputs)
    for i, (name, shown) in enumerate(zip(graph.outputs, graph.output_names, strict=True)):
        kind = graph.types[name]
        step = -(-kind.bytes // 16) * 16
        found = simulator.read(f"{network.name}_out_{i}", RUNS * step)
        for run in range(RUNS):
            values = np.frombuffer(found, kind.dtype, kind.elements, run * step).reshape(kind.shape)
            assert compare(shown, values, wanted[shown]).agrees


@pytest.mark.in_turns(10)
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("target", "second"),
    [("siracusa", Settings(home="L3", time_limit=1.0)), *((name, Settings(time_limit=1.0)) for name in CLUSTERS[1:])],
    ids=CLUSTERS,
)
def test_two_networks_in_one_firmware(target: str, second: Settings, tmp_path: Path) -> None:
    """Kernels of the same instance and of others, constants in L3 of one of them, L1 arrays of different sizes."""
    networks = [
        Network.of("first", residual(), target, Settings(time_limit=1.0)),
        Network.of("second", quantised_residual(), target, second),
    ]
    simulator = run(target, firmware(tmp_path, networks))
    for network in networks:
        check_outputs(simulator, network)


@pytest.mark.in_turns(10)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", CLUSTERS)
def test_two_networks_keep_their_own_states(target: str, tmp_path: Path) -> None:
    """Each run of one comes between two runs of the other."""
    networks = [Network.with_state("first", cell(), target), Network.with_state("second", shift(), target)]
    simulator = run(target, firmware(tmp_path, networks))
    for network in networks:
        graph = network.writer.schedule.graph
        wanted = network.program.run_steps({name: np.stack([a] * RUNS) for name, a in network.inputs.items()})
        kind = graph.types[graph.outputs[0]]
        step = -(-kind.bytes // 16) * 16
        found = simulator.read(f"{network.name}_out_0", RUNS * step)
        values = [np.frombuffer(found, kind.dtype, kind.elements, run * step) for run in range(RUNS)]
        np.testing.assert_array_equal(np.stack(values).reshape(RUNS, *kind.shape), wanted.outputs["y"])
        assert (values[0] != values[1]).any()


def test_l1_is_shared(tmp_path: Path) -> None:
    """The array in L1 is as large as the larger one needs, and there is one."""
    settings = Settings(time_limit=1.0)
    networks = [Network.of(name, made(), "quad", settings) for name, made in (("a", residual), ("b", odd_sizes))]
    peaks = [network.writer.arena_bytes(network.writer.memories.tiles) for network in networks]
    assert len(set(peaks)) == 2
    elf = read_elf(firmware(tmp_path, networks))
    assert elf.symbols["tw_tcdm_end"] - elf.symbols["tw_tcdm"] in range(max(peaks), max(peaks) + 16)


def run(target: str, program: Path) -> Simulator:
    """To the end, and no device is used in a way that another simulator or the chip would not forgive."""
    simulator = Simulator(target)
    simulator.load(program)
    simulator.check(misuse=True)
    assert simulator.run(500_000_000).exit_code == 0
    return simulator


MIXED = {"siracusa": [(4, 8), (8, 4), (8, 1)], "quad": [(2, 4), (4, 2), (3, 1)]}
"""Cores of the first network and of the second one."""


@pytest.mark.in_turns(10)
@pytest.mark.one_in(4)
@pytest.mark.parametrize(("target", "cores"), [(name, pair) for name, pairs in MIXED.items() for pair in pairs])
def test_networks_of_different_numbers_of_cores(target: str, cores: tuple[int, int], tmp_path: Path) -> None:
    """Each computes with its own team, in turn: loops over tiles, kernels' shares and barriers are of its number."""
    made = (residual(), quantised_residual())
    networks = [
        Network.of(name, model, target, Settings(cores=number, l1=16_000, time_limit=1.0))
        for name, model, number in zip(("first", "second"), made, cores, strict=True)
    ]
    assert tuple(network.writer.schedule.cores for network in networks) == cores
    simulator = run(target, firmware(tmp_path, networks))
    for network in networks:
        check_outputs(simulator, network)


def test_a_symbol_of_both_is_refused(tmp_path: Path) -> None:
    """By the linker, which is given objects; as libraries they are refused by CMake (codegen/test_cmake_symbols.py)."""
    constants = {"a": "b_w", "a_b": "w"}
    networks = [
        Network.of(name, adding(constant), "quad", Settings(time_limit=1.0)) for name, constant in constants.items()
    ]
    with pytest.raises(CompileError, match="a_b_w"):
        firmware(tmp_path, networks)


def test_too_few_cores_that_boot_are_refused(tmp_path: Path) -> None:
    """By the linker: a network that waits for cores which never come would hang."""
    networks = [
        Network.of("a", residual(), "quad", Settings(cores=2, time_limit=1.0)),
        Network.of("b", residual(), "quad", Settings(cores=4, time_limit=1.0)),
    ]
    with pytest.raises(CompileError, match="tw_boots_4_cores"):
        firmware(tmp_path, networks, booted=2)


PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(firmware C)
add_subdirectory(../a a)
add_subdirectory(../b b)
foreach(name CORES STACK_BYTES DMA_CORE_STACK_BYTES)
  get_target_property(found tilewright_runtime_quad TILEWRIGHT_${name})
  message("largest ${name} ${found}")
endforeach()
"""


def configured(folder: Path) -> subprocess.CompletedProcess[str]:
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if not cmake or not shutil.which("gcc"):
        pytest.skip("cmake or gcc is not installed")
    (folder / "project").mkdir()
    (folder / "project" / "CMakeLists.txt").write_text(PROJECT)
    command = [cmake, "-S", "project", "-B", "build", "-DCMAKE_C_COMPILER=gcc"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("cores", [(4, 2), (2, 4)])
def test_cmake_has_one_runtime(cores: tuple[int, int], tmp_path: Path) -> None:
    """And knows how many cores have to boot, with which stacks."""
    models = zip("ab", (residual(), quantised_residual()), cores, strict=True)
    networks = [Network.of(name, made, "quad", Settings(cores=number, time_limit=1.0)) for name, made, number in models]
    for network in networks:
        folder.write(folder.files(network.writer.schedule, network.name), tmp_path / network.name)
    done = configured(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "largest CORES 4\n" in done.stderr
    assert f"largest STACK_BYTES {max(network.stacks.each for network in networks)}\n" in done.stderr
    assert f"largest DMA_CORE_STACK_BYTES {max(network.stacks.dma_core for network in networks)}\n" in done.stderr


def test_cmake_refuses_runtimes_of_other_versions(tmp_path: Path) -> None:
    for name in "ab":
        network = Network.of(name, residual(), "quad", Settings(time_limit=1.0))
        folder.write(folder.files(network.writer.schedule, name), tmp_path / name)
    text = (tmp_path / "b" / "CMakeLists.txt").read_text()
    (tmp_path / "b" / "CMakeLists.txt").write_text(text.replace(VERSION, "0.0.1"))
    done = configured(tmp_path)
    assert done.returncode != 0
    assert f"b needs runtime 0.0.1, another network brought {VERSION}" in " ".join(done.stderr.split())
