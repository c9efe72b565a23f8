"""Instructions that are found in a program: what blocks compute, and the program rewritten to have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.random import default_rng

from tests.sim.assembling import assemble
from tests.support.models import small
from tests.targets.rv32.machine import LARGE
from tests.targets.rv32.test_kernels import conv
from tilewright import pipeline
from tilewright.bringup.instruction_search import Subject, searched
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError
from tilewright.instruction.declaration import Instruction
from tilewright.instruction.search.blocks import ALL, Block
from tilewright.instruction.search.cones import BlockParts
from tilewright.instruction.search.decoded import Decoded, Kind
from tilewright.instruction.search.decoding import decoded
from tilewright.instruction.search.rewriting import _moved
from tilewright.ir.graph import Builder
from tilewright.ir.types import type_of
from tilewright.run.board import BoardProgram
from tilewright.target.settings import DEFAULT

AT = 0x2000_0000
T0 = 1 << 5


def code(text: str, features: str = "+m+c") -> list[Decoded]:
    return list(decoded(assemble(text, features), AT))


def cones(text: str, live: int = ALL) -> set[str]:
    return {cone.semantics for cone in BlockParts(Block("f", tuple(code(text)), live)).cones()}


def test_what_instructions_read_and_write() -> None:
    found = code(
        "mv a0, a1\nli a0, -6\nc.add a0, a1\nseqz a0, a1\nneg a0, a1\nlbu a0, 3(a1)\nsw a0, 4(sp)\nrem a0, a1, a2"
    )
    assert [(one.name, one.rd, one.sources, one.constant) for one in found[:5]] == [
        ("add", 10, (11,), 0), ("add", 10, (0,), 0xFFFFFFFA), ("add", 10, (10, 11), None), ("sltu", 10, (11,), 1),
        ("sub", 10, (0, 11), None),
    ]  # fmt: skip
    assert [one.kind for one in found[5:]] == [Kind.LOADS, Kind.STORES, Kind.OPAQUE]


def test_parts_of_a_block() -> None:
    text = "mul t0, a0, a1\nadd a2, a2, t0"
    assert cones(text, ALL & ~T0) == {"(rd.u32 + (rs1.u32 * rs2.u32))"}
    assert cones(text, ALL) == set(), "the product is read behind the block"
    assert cones("mul t0, a0, a1\nadd a3, a2, t0", ALL & ~T0) == set(), "three registers, and none of them is written"
    assert cones("slli t0, a0, 3\nli a0, 1\nadd a2, t0, a1", ALL & ~T0) == set(), "an operand is gone"
    assert cones("srai t0, a0, 31\nxor a2, a0, t0", ALL & ~T0) == {"(rs1.u32 ^ (uint32_t)((int32_t)rs1.u32 >> 31))"}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("text", "reach"), [("beqz a0, .", 120), ("bne a0, a1, .", 2000), ("j .", 1000), ("jal ra, .", 1000)]
)
@pytest.mark.parametrize("features", ["+m+c", "+m"])
def test_jumps_move(text: str, reach: int, features: str) -> None:
    """Where they lead is the same."""
    data = assemble(text, features)
    (one,) = decoded(data, AT)
    for target in range(AT - reach, AT + reach, 38):
        moved = _moved(Decoded(AT, one.size, one.name, one.kind, one.rd, one.sources, None, target), data, 6)
        assert moved is not None
        (found,) = decoded(moved, AT - 6)
        assert (found.target, found.name, found.sources) == (target, one.name, one.sources)


def subject() -> Subject:
    """A convolution of bytes on the board."""
    op, arrays = conv(default_rng(2), "double")
    builder = Builder("one")
    names = [builder.input("x", type_of(arrays[0]))]  # type: ignore[arg-type]  # the image is there
    names += [builder.constant(array, f"c{number}") for number, array in enumerate(arrays[1:]) if array is not None]
    for tensor in builder.add(op, names, name="conv"):
        builder.output(tensor)
    compiled = pipeline.Compiled(*pipeline.stages(builder.build(), "rv32", "", LARGE))
    program = BoardProgram(Writer(compiled.schedule, "one"), compiled.files, None)
    return Subject("one", program, {"x": arrays[0]}, ())  # type: ignore[dict-item]


@pytest.mark.in_turns(5)
def test_a_rewritten_program_computes_the_same() -> None:
    """With many instructions at once: it is shorter by what blocks have less."""
    one = subject()
    before = one.ran({}, frozenset())
    found: dict[str, None] = {}
    for block, _ in before.blocks.values():
        found |= dict.fromkeys(cone.semantics for cone in BlockParts(block).cones())
    assert len(found) > 30
    wanted = {text: own(number, text) for number, text in enumerate([*found][::3][:12])}
    after = one.ran(wanted, frozenset(before.blocks))
    assert after.instructions < before.instructions
    np.testing.assert_equal(after.outputs, before.outputs)


def own(number: int, semantics: str) -> Instruction:
    operands = ("rd+" if "rd." in semantics else "rd", "rs1", *["rs2"] * ("rs2." in semantics))
    return Instruction(f"own{number}", "custom-1", operands, semantics, number % 8, 64 + number // 8)


@pytest.mark.in_turns(3)
def test_proposals_are_written(tmp_path: Path) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    found = searched([tmp_path / "net.onnx"], "rv32", DEFAULT, tmp_path / "drafts", 2)
    assert [one.measured > 0 for one in found.proposals] == [True, True]
    saved = found.before["net"].instructions - found.after["net"].instructions
    assert saved == sum(one.measured for one in found.proposals)
    for path in found.write(tmp_path / "own"):
        assert path.is_file()


@pytest.mark.parametrize("target", ["siracusa", "cortex-m4", "generic"])
def test_targets_that_are_not_searched(tmp_path: Path, target: str) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    with pytest.raises(CompileError, match=r"has a cluster, whose programs|has no core that instructions"):
        searched([tmp_path / "net.onnx"], target, DEFAULT, tmp_path, 1)


def test_two_networks_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="'net' is the name of two networks"):
        searched([tmp_path / "net.onnx", tmp_path / "a" / "net.onnx"], "rv32", DEFAULT, tmp_path, 1)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("word", "size", "kind", "name", "rd", "sources"),
    [
        (0x20C5A533, 4, Kind.OPAQUE, "zb", 10, (11, 12)),  # sh1add a0, a1, a2
        (0x60059513, 4, Kind.OPAQUE, "zb", 10, (11,)),  # clz a0, a1
        (0x9D61, 2, Kind.COMPUTES, "and", 10, (10,)),  # c.zext.b a0
        (0x9D4D, 2, Kind.COMPUTES, "mul", 10, (10, 11)),  # c.mul a0, a1
        (0x8188, 2, Kind.LOADS, "lbu", 10, (11,)),  # c.lbu a0, 0(a1)
        (0x8988, 2, Kind.STORES, "sb", 0, (10, 11)),  # c.sb a0, 0(a1)
        (0x9D71, 2, Kind.OTHER, "", 0, ()),  # of 64 bits
    ],
)
def test_extensions_that_capstone_does_not_know(
    word: int, size: int, kind: Kind, name: str, rd: int, sources: tuple[int, ...]
) -> None:
    (found,) = decoded(word.to_bytes(size, "little"), 0x100)
    assert (found.size, found.kind, found.name, found.rd, found.sources) == (size, kind, name, rd, sources)
