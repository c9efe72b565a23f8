"""A cluster with other memories, addresses and cores, and no accelerator: nothing generic speaks of one chip."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright
from tests.errors.test_cluster import whole
from tests.planner.networks import NETWORKS
from tests.support.command import Command
from tests.support.models import model, node, residual
from tilewright import targets
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.ops.add import Add
from tilewright.planner.schedule.listing import listing
from tilewright.program import Program, compile_model
from tilewright.run.kernel_bench import Case, check
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings
from tilewright.target.target import Target

QUAD = targets.find("quad")
SOME = ("residual", "odd_sizes", "joined", "nothing_in_it", "quantised_residual", "many_inputs_and_outputs")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    onnx.save(residual(), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def compiled(name: str, settings: Settings) -> Program:
    return compile_model(NETWORKS[name](), target="quad", settings=settings)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", SOME)
def test_networks_agree(name: str) -> None:
    assert compiled(name, Settings(time_limit=1.0)).check().first_difference is None


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ["quantised_residual", "odd_sizes"])
def test_predictions_are_near(name: str) -> None:
    profile = compiled(name, Settings(time_limit=1.0)).profile().profile
    assert profile.predicted == pytest.approx(profile.cycles, rel=0.1)


@pytest.mark.in_turns(3)
def test_a_concat_that_a_layer_computes() -> None:
    """Its operand is needed twice, so that it cannot be made in its place."""
    nodes = [node("Relu", "x", "a"), node("Concat", "a a", "b", axis=1), node("Neg", "b", "y")]
    made = compile_model(model(nodes, {"x": (4, 600)}, ["y"]), target="quad", settings=Settings(cores=3, l1=10_000))
    assert made.check().first_difference is None


@pytest.mark.in_turns(3)
def test_there_is_stack_for_angles_of_any_size() -> None:
    """The library brings large ones into a turn with working memory on the stack."""
    angles = np.float32([[0.5, -3e9, 1e20, -3e38]] * 4)
    made = compile_model(model([node("Sin", "x", "y")], {"x": (4, 4)}, ["y"]), target="quad")
    (found,) = made.run(angles).outputs.values()
    np.testing.assert_allclose(found, np.sin(angles.astype(np.float64)), atol=1e-6)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    "settings",
    [Settings(cores=1), Settings(cores=3, buffering="single"), Settings(memories=(("tcdm", 9000),), time_limit=1.0)],
    ids=("one core", "three cores", "little TCDM"),
)
def test_options_agree(settings: Settings) -> None:
    assert compiled("residual", settings).check().first_difference is None


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", ["residual", "odd_sizes", "joined"])
def test_a_dma_without_strides(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform whose DMA moves single runs only is described by one field: rows are commands of their own."""
    plain = replace(QUAD, links=(replace(QUAD.links[0], strided=False),))
    monkeypatch.setattr(importlib.import_module("tilewright.targets.quad.target"), "TARGET", plain)
    program = compiled(name, Settings(memories=(("tcdm", 12000),), time_limit=1.0))
    assert "#define TW_DMA_STRIDED 0" in program.compiled.files["runtime/limits.h"]
    assert program.check().first_difference is None


TCDM, RAM = QUAD.memories
OTHERS = {
    "small units": replace(QUAD, memories=(replace(TCDM, alignment=4), replace(RAM, alignment=4))),
    "large units": replace(QUAD, memories=(replace(TCDM, alignment=32), replace(RAM, alignment=64))),
    "short transfers": replace(QUAD, links=(replace(QUAD.links[0], longest=500, groups=6),)),
    "few slots": replace(QUAD, agents=replace(QUAD.agents, cores=3, prefetch_slots=2)),
}


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", OTHERS)
def test_numbers_are_the_platforms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments, lengths of transfers and slots stand in the description, and nowhere else."""
    monkeypatch.setattr(importlib.import_module("tilewright.targets.quad.target"), "TARGET", OTHERS[name])
    program = compiled("odd_sizes", Settings(memories=(("tcdm", 12000),), time_limit=1.0))
    assert program.check().first_difference is None


def test_a_runtime_with_more_variables_than_the_planner_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(QUAD, agents=replace(QUAD.agents, state=16))
    monkeypatch.setattr(importlib.import_module("tilewright.targets.quad.target"), "TARGET", small)
    program = compiled("nothing_in_it", Settings(time_limit=1.0))
    with pytest.raises(CompileError, match="the runtime has more variables in TCDM than the target says"):
        program.build_soc().build(program.random_inputs())


@pytest.mark.in_turns(3)
def test_a_run_breaks_no_rule() -> None:
    """No read of what nobody wrote, no access to what the DMA moves, no use of a device that it is not made for."""
    program = compiled("odd_sizes", Settings(memories=(("tcdm", 12000),), time_limit=1.0))
    inputs: dict[str, Array] = program.random_inputs()
    simulator = Simulator("quad")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
    simulator.load(read_elf(program.build_soc().build(inputs)))
    assert re.match(r"cycles \d+\noutput 0 fnv1a [0-9a-f]+\n$", simulator.run(100_000_000).stdout)


def test_program_headers_are_for_what_the_file_fills() -> None:
    program = compiled("residual", Settings(time_limit=1.0))
    segments = read_elf(program.build_soc().build(program.random_inputs())).segments
    assert segments
    assert all(segment.address >= 0x8000_0000 and len(segment.data) == segment.size > 0 for segment in segments)


def test_a_printed_schedule_names_kernels_and_arenas() -> None:
    text = listing(compiled("residual", Settings(time_limit=1.0)).compiled.schedule)
    assert re.match(r"schedule \S+ on quad, 4 cores: arenas TCDM \d+ bytes, RAM \d+ bytes\n", text)
    assert re.search(r"core 0 +run +cluster\.conv\w* layer 0 tile 0: ", text)


def test_the_header_is_for_c_and_cpp() -> None:
    text = compiled("residual", Settings(time_limit=1.0)).compiled.files["network.h"]
    assert text.count("#ifdef __cplusplus") == 2
    assert text.index('extern "C" {') < text.index("_run(") < text.index("}\n#endif")


def test_generated_c_speaks_of_its_memories_only() -> None:
    texts = compile_model(residual(), target="quad").compiled.files
    runtime = " ".join(name for name in texts if name.startswith("runtime/"))
    assert not re.search(r"l3|npu|offload", runtime)
    assert "uint8_t tw_tcdm[" in texts["network.c"]
    assert not re.search(r"\bl[123]\b|wmem|siracusa|neureka", texts["network.c"] + texts["network.h"], re.IGNORECASE)


def test_the_folder_of_a_target_is_all_that_it_brings() -> None:
    """Whatever two clusters have in common is one file; they differ in boot code, linker script and addresses."""
    own = {path.relative_to(QUAD.folder).as_posix() for path in QUAD.folder.rglob("*.[chS]")}
    assert own == {"kernels/platform.h", "runtime/crt0.S", "bench_runtime/boot.S"}
    package = Path(tilewright.__file__).parent
    naming = [path for path in package.rglob("*.py") if re.search(r"\bquad\b", path.read_text(), re.IGNORECASE)]
    assert {path.relative_to(package).as_posix() for path in naming} == {
        "targets/quad/target.py", "sim/platforms/quad.py", "sim/platforms/__init__.py",
        "toolchain/opencl_c/tree.py",  # a word that OpenCL C keeps for itself
    }  # fmt: skip


def test_a_profile_accounts_for_all_cycles() -> None:
    found = compiled("residual", Settings(time_limit=1.0)).profile().profile
    assert sum(layer.cycles for layer in found.layers) == found.cycles > 0


def test_a_kernel_alone() -> None:
    values = np.arange(64, dtype=np.int8)
    kernel = next(kernel for kernel in QUAD.engines[0].kernels if kernel.op is Add)
    (measured,) = check([Case(kernel, Add(), [values, values])], QUAD, cores=4)
    assert measured.cycles > 0


def test_it_is_listed(command: Command) -> None:
    found = {target["name"]: target for target in command("targets", "--json").json["targets"]}
    assert found["quad"]["memories"] == [{"name": "TCDM", "bytes": 65536}, {"name": "RAM", "bytes": 1048576}]


@pytest.mark.parametrize(
    ("options", "where", "what", "hint"),
    [
        ("--l1 10", "TCDM of 10 bytes", "48 are needed for the runtime",
         "give it more, for example --memory tcdm=4144"),
        ("--memory tcdm=70000", "--memory tcdm=70000", "TCDM of quad has 65536 bytes", whole(65536)),
        ("--memory l3=5", "--memory l3=5", "is not a memory of quad", "its memories: tcdm, ram"),
        ("--l2 5000", "RAM of 5000 bytes", "262144 are kept for the program",
         "give it more, for example --memory ram=1048576"),
        ("--cores 5", "--cores 5", "the cluster has 4", "choose 1 to 4"),
        ("--home L2", "--home L2", "is not a memory for constants", "use RAM"),
        ("--engines neureka", "engine 'neureka'", "is not an engine of quad", "its engines: cluster"),
    ],
)  # fmt: skip
def test_errors(command: Command, small: Path, options: str, where: str, what: str, hint: str) -> None:
    ran = command("analyze", small, "--target", "quad", "--json", *options.split())
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert (error["where"], error["what"], error.get("hint", "")) == (where, what, hint)


def test_a_network_that_is_too_large_is_named_with_its_bytes(command: Command, tmp_path: Path) -> None:
    weights = {"w": np.zeros((1000, 250), np.float32)}
    onnx.save(model([node("MatMul", "x w", "y", name="large")], {"x": (1, 1000)}, ["y"], weights), tmp_path / "m.onnx")
    ran = command("analyze", tmp_path / "m.onnx", "--target", "quad", "--json")
    (error,) = ran.json["errors"]
    assert error["where"] == "RAM, node 'large' (MatMul)"
    assert error["what"] == (
        "1005008 bytes are needed (0 for activations, 1000000 for constants, 5008 for inputs and outputs), "
        "786432 are there: 218576 are missing"
    )


def test_bases_come_after_the_targets_own_folder(tmp_path: Path) -> None:
    (tmp_path / "own" / "runtime").mkdir(parents=True)
    (tmp_path / "own" / "runtime" / "dma.c").write_text("")
    target = Target("some", "", (), (), tmp_path / "own", bases=QUAD.bases)
    files = target.runtime_files()
    assert files["dma.c"] == tmp_path / "own" / "runtime" / "dma.c"
    assert files["pipeline.c"] == QUAD.bases[0] / "runtime" / "pipeline.c"
