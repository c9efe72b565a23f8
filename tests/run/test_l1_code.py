"""With --code-in-l1 what L1 has free holds code: the functions that are run most often, never more than it has room
for."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.planner.networks import quantised_residual
from tests.planner.simulating import L1_BYTES, L1_START, program_of, sanitized
from tilewright.run.inner_code import Code, chosen, functions
from tilewright.sim.program.elf import Elf
from tilewright.target.settings import Settings

CODES = [Code(".text.once", 40, 1), Code(".text.often", 100, 9), Code(".text.never", 4, 0), Code(".text.twice", 60, 2)]
LOST = 32
"""Bytes that may be lost at the ends."""


@pytest.mark.fast
@pytest.mark.parametrize(
    ("free", "names"),
    [
        (0, []),
        (LOST + 99, ["twice"]),
        (LOST + 100, ["often"]),
        (LOST + 160, ["often", "twice"]),
        (LOST + 1000, ["often", "twice", "once"]),
    ],
)
def test_what_is_run_most_often_comes_first(free: int, names: list[str]) -> None:
    assert [code.section for code in chosen(CODES, free)] == [f".text.{name}" for name in names]


@pytest.mark.fast
def test_the_linker_is_told_their_names() -> None:
    assert functions(CODES[:2]) == "*(.text.once)\n*(.text.often)\n"


def built(l1: int) -> Elf:
    program = tw.compile(quantised_residual(), target="siracusa", settings=Settings(l1=l1, code_in_l1=True))
    return program_of(program, program.random_inputs())


def l1(elf: Elf, limit: int) -> set[str]:
    """Functions of the runtime that lie in L1."""
    return {name for name in ("tw_wait_prefetch", "tw_dma_in", "tw_serve") if elf.symbols[name] < L1_START + limit}


@pytest.mark.in_turns(5)
def test_a_program_runs_in_what_is_free() -> None:
    elf = built(L1_BYTES)
    assert l1(elf, L1_BYTES) == {"tw_wait_prefetch", "tw_dma_in", "tw_serve"}
    assert elf.symbols["main"] >= L1_START + L1_BYTES, "what is run once stays where it was"
    assert sanitized(elf, misuse=False).startswith("cycles")


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("l1", [3_000, 4_500, 9_000])
def test_code_keeps_within_what_the_user_gave(l1: int) -> None:
    elf = built(l1)
    assert elf.symbols["tw_l1_code"] <= elf.symbols["tw_l1_code_end"] <= L1_START + l1
