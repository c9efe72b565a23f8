"""Two networks of one model, compiled together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.frontends.checkpoint.small import LLAMA, save
from tilewright import pipeline
from tilewright.codegen import c_data
from tilewright.codegen.text_of import text_of
from tilewright.errors import InternalError
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.at_sizes import at_sizes
from tilewright.language.decoder import of_any_tokens
from tilewright.language.modes import compile_modes
from tilewright.language.preparing import Prepared, in_modes, with_one_attention
from tilewright.planner.cluster.plan import Plan
from tilewright.quantiser.quantise import Options, quantise
from tilewright.target.settings import DEFAULT, Settings

TOKENS, BLOCK, CONTEXT = 11, 4, 13


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A tiny model in integers."""
    checkpoint = read_checkpoint(save(tmp_path_factory.mktemp("model"), LLAMA))
    graph = of_any_tokens(lambda count: pipeline.import_model(decoder_model(checkpoint, count, CONTEXT)), TOKENS)
    ids = np.random.default_rng(2).integers(0, 19, (4, 1, TOKENS)).astype(np.int32)
    made = quantise(graph, {"ids": ids, "position": np.zeros((4, 1), np.int32)}, Options(wide=True, processes=1))
    fused = with_one_attention(lambda count: at_sizes(made.graph, {"tokens": count}), TOKENS)
    return in_modes(fused, CONTEXT, BLOCK)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_weights_exist_once(prepared: Prepared, target: str) -> None:
    settings = DEFAULT if target == "generic" else Settings(time_limit=1.0)
    modes = compile_modes(prepared.decode, prepared.prefill, target, "tiny", settings)
    # What counts the tokens of a block is all that only the other network needs.
    assert modes.prefilling.constants == ["offsets"]
    assert modes.prefill.schedule.graph.constants["offsets"].nbytes == 4 * BLOCK
    declared = c_data.header(modes.prefilling)
    assert all(
        f" {symbol}{' ((' if modes.is_mapped else '['}" in declared for symbol in modes.shared_constants.values()
    )
    assert "tiny_decode_" in next(iter(modes.shared_constants.values()))


@pytest.mark.in_turns(5)
def test_caches_lie_at_the_same_place_in_one_arena(prepared: Prepared) -> None:
    modes = compile_modes(prepared.decode, prepared.prefill, "siracusa", "tiny", Settings(time_limit=1.0))
    plans = [modes.decode.allocation, modes.prefill.allocation]
    homes = [[plan.homes[s.before] for s in plan.mapped.graph.states] for plan in plans if isinstance(plan, Plan)]
    assert [(home.memory, home.offset) for home in homes[0]] == [(home.memory, home.offset) for home in homes[1]]
    assert all("extern uint8_t tiny_arena[];" in text_of(writer).source() for writer in modes.writers.values())


@pytest.mark.in_turns(3)
def test_no_more_of_a_cache_is_moved_than_is_there(prepared: Prepared) -> None:
    modes = compile_modes(prepared.decode, prepared.prefill, "siracusa", "tiny", Settings(time_limit=1.0))
    source = text_of(modes.decoding).source()
    assert "tw_clamp(*(const int32_t *)(const uint8_t *)io_position + 1, 0, 13)" in source
    assert "tw_clamp(*(const int32_t *)(const uint8_t *)io_position + 4, 0, 13)" in text_of(modes.prefilling).source()


def test_modes_with_other_caches(prepared: Prepared) -> None:
    other = replace(prepared.prefill, states=prepared.prefill.states[1:])
    with pytest.raises(InternalError, match="decoding keeps"):
        compile_modes(prepared.decode, other, "generic", "tiny", DEFAULT)
