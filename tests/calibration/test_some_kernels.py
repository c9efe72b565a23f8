"""`tilewright calibrate TARGET --kernel STEM`: what it refuses, and stacks of kernels that do not compile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command import Command
from tilewright import targets
from tilewright.calibration import stacks
from tilewright.errors import CompileError

QUAD = targets.find("quad")
RELU = next(kernel for engine in QUAD.engines for kernel in engine.kernels if kernel.stem == "relu")


@dataclass
class Scripted:
    """A compiler that takes some of what it is given, and says that functions have 48 bytes."""

    taken: str

    def run(self, arguments: Sequence[str], folder: Path) -> None:
        (source,) = (word for word in arguments if word.endswith(".c"))
        if self.taken not in source:
            raise CompileError("compiler", "expected ';'")
        (folder / "out.s").write_text(f"tw_{source.removesuffix('.c')}:\n\taddi\tsp, sp, -48\n")


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("siracusa --kernel relu_share", "is no kernel of siracusa", "did you mean relu_shared?"),
        ("cpu --kernel relu", "target cpu is measured as a whole", "leave it out"),
        ("quad --kernel relu --accelerator unit", "is for the target's own kernels", "leave --accelerator out"),
    ],
)
def test_refusals(command: Command, words: str, what: str, hint: str) -> None:
    ran = command("calibrate", *words.split(), "--json")
    assert ran.code == 2
    assert (ran.json["error"]["what"], ran.json["error"]["hint"]) == (what, hint)


def test_types_that_do_not_compile_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "find_cross_compiler", lambda: Scripted("i8"))
    assert stacks.kernel_stack(QUAD, RELU) == 48


def test_a_kernel_that_compiles_for_no_type_has_no_stack_of_0_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "find_cross_compiler", lambda: Scripted("nothing"))
    with pytest.raises(CompileError, match="expected ';'"):
        stacks.kernel_stack(QUAD, RELU)


def test_kernels_that_requantise_are_measured_in_both_kinds_of_rounding() -> None:
    multiplying = next(kernel for engine in QUAD.engines for kernel in engine.kernels if kernel.stem == "qlinearmul")
    assert {instance.has_exponents for instance in stacks.samples(multiplying, QUAD.kernel_text)} == {False, True}
    assert {instance.has_exponents for instance in stacks.samples(RELU, QUAD.kernel_text)} == {None}


def test_a_function_that_calls_itself_is_refused() -> None:
    assembly = "tw_run:\n\taddi\tsp, sp, -16\n\tcall\tinner\ninner:\n\taddi\tsp, sp, -32\n\tcall\t{}\n"
    assert stacks.deepest(assembly.format("expf"), "tw_run", {}) == 16 + 32 + stacks.library_stack("expf")
    with pytest.raises(CompileError, match="tw_run: calls itself: its stack has no bound"):
        stacks.deepest(assembly.format("tw_run"), "tw_run", {})
