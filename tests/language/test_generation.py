"""Texts as they come, the figures of a text, and prompts that are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilewright.cli.generate import BESIDE, with_values
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Config
from tilewright.language.generation import CONTEXT, END, TOKENS, Generation, Listener
from tilewright.language.memory_use import Needs, check_context, explained
from tilewright.language.prompt import prompt_bytes
from tilewright.language.talking import Event, Read, Said
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.sim.energy import Energy
from tilewright.target.settings import Settings
from tilewright.targets import find

pytestmark = pytest.mark.fast

CONFIG = Config(
    "Llama", width=16, hidden=24, layers=2, heads=4, kv_heads=2, head=4, words=258, context=64, epsilon=1e-5
)
BYTES = Tokenizer(tuple(bytes([one]) for one in range(256)), {}, tuple(range(256)), {})


def events(pieces: list[bytes]) -> Iterator[Event]:
    yield Read(3, 0.5)
    yield from (Said(token, piece, 0.25) for token, piece in enumerate(pieces))


def heard(pieces: list[bytes], wanted: int = 10) -> tuple[list[str], Listener]:
    listener = Listener(wanted, ends=(1,))
    return list(listener.hear(events(pieces))), listener


def test_the_bytes_of_a_character_are_held_back_until_it_is_whole() -> None:
    smile = "\U0001f600".encode()
    assert heard([b"a", smile[:1], smile[1:3], smile[3:] + b"b", b"", b"c"])[0] == ["a", "\U0001f600b", "c"]


def test_what_never_becomes_a_character_is_shown_as_such() -> None:
    assert heard([b"a\xffb", b"\xe2\x82"])[0] == ["a\ufffdb", "\ufffd"]


def test_why_a_text_is_over() -> None:
    assert heard([b"a"] * 3, wanted=3)[1].stopped(True) == TOKENS
    assert heard([b"a"] * 2, wanted=3)[1].stopped(True) == END  # the second token is 1
    assert heard([b"a"] * 2, wanted=3)[1].stopped(False) == CONTEXT


def energy(femtojoules: int) -> Energy:
    return Energy({"cores": femtojoules}, {"cores": 0.1}, 100, 1_000_000)


def generation(read: Read, *said: Said) -> Generation:
    return Generation("siracusa", "a", "b", read, said, TOKENS, 64, {"L1": 5})


def test_figures_leave_out_the_first_token_for_which_nothing_is_computed() -> None:
    timed = generation(Read(4, 0.5), Said(1, b"", 0.001), Said(2, b"", 0.1), Said(3, b"", 0.3))
    assert timed.prefill_tokens_per_second == pytest.approx(8)
    assert timed.tokens_per_second == pytest.approx(5)
    assert timed.seconds == pytest.approx(0.901)
    assert timed.microjoules_per_token is None
    assert timed.cycles_per_token is None


def test_one_token_has_no_speed() -> None:
    assert generation(Read(4, 0.5), Said(1, b"", 0.001)).tokens_per_second is None


def test_cycles_without_a_clock_are_no_seconds() -> None:
    found = generation(Read(4, 400.0, 400), Said(1, b"", 1.0, 1), Said(2, b"", 50.0, 50))
    assert (found.cycles_per_token, found.prefill_cycles_per_token) == (50, 100)
    assert found.tokens_per_second is found.prefill_tokens_per_second is found.seconds is found.hertz is None


def test_energy_is_that_of_tokens_that_were_read() -> None:
    said = (Said(1, b"", 0.1, 10, energy(7)), Said(2, b"", 0.1, 100, energy(4 * 10**9)))
    found = generation(Read(4, 0.1, 100, energy(8 * 10**9)), *said)
    assert found.microjoules_per_token == pytest.approx(4)
    assert found.prefill_microjoules_per_token == pytest.approx(2)
    assert found.as_dict()["bytes"] == {"L1": 5}


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        (b"a\xffb", "is not UTF-8: byte 2 of 3 is 0xff"),
        ("a\udcffb", "is not UTF-8: byte 2 of 3 is 0xff"),
        ("ab\ud800", "its character 3 of 3 is not valid Unicode"),
        ("", "is empty, and this model has no BOS token to start with"),
        ("a" * 20, "has 20 tokens; a context of 20 holds 19 and one new token"),
    ],
)
def test_prompts_that_no_program_can_read(prompt: str | bytes, what: str) -> None:
    with pytest.raises(CompileError, match="prompt") as refused:
        prompt_bytes(prompt, BYTES, CONFIG, 20)
    assert what in refused.value.what


def test_a_prompt_says_which_context_it_needs() -> None:
    with pytest.raises(CompileError) as refused:
        prompt_bytes("a" * 40, BYTES, CONFIG, 20)
    assert refused.value.hint == "choose a context of 41 or more"
    with pytest.raises(CompileError) as refused:
        prompt_bytes("a" * 400, BYTES, CONFIG, 20)
    assert refused.value.hint == "give a shorter one"


def test_a_tokenizer_of_another_model_is_found_out() -> None:
    small = Config("Llama", 16, 24, 2, 4, 2, 4, words=90, context=64, epsilon=1e-5)
    with pytest.raises(CompileError, match="token 97, but the model's vocabulary has 90 tokens"):
        prompt_bytes("a", BYTES, small, 20)


def test_a_context_that_no_memory_holds_is_refused_with_bytes_and_what_would_fit() -> None:
    needs = Needs(CONFIG, BYTES, 4, CONFIG.words)
    target, settings = find("siracusa"), Settings(l2=200_000)
    with pytest.raises(CompileError) as refused:
        check_context(needs, 5000, target, settings)
    assert f"{needs.caches(5000)} for keys and values" in refused.value.what
    assert "200000 are there" in refused.value.what
    most = int(refused.value.hint.split()[6])
    check_context(needs, most, target, settings)
    with pytest.raises(CompileError):
        check_context(needs, most + 2, target, settings)
    check_context(needs, 5000, find("generic"), settings)


def test_programs_that_the_linker_finds_too_large() -> None:
    target = find("siracusa")
    said = "ld.lld: error: section '.l2' will not fit in region 'L2': overflowed by 1234 bytes"
    with (
        pytest.raises(CompileError, match="L2 on siracusa: the program is 1234 bytes too large"),
        explained(target, False),
    ):
        raise CompileError("compiler zig", said)
    with pytest.raises(CompileError, match="compiler zig: another"), explained(target, False):
        raise CompileError("compiler zig", "another")
    with pytest.raises(CompileError, match="--quantise"), explained(target, True):
        raise CompileError("L2, node 'x'", "5 bytes are needed", "")


def test_an_option_may_stand_without_its_value() -> None:
    assert with_values(["m", "--quantise", "t.txt"]) == ["m", "--quantise", "t.txt"]
    assert with_values(["m", "--quantise", "--json"]) == ["m", "--quantise", BESIDE, "--json"]
    assert with_values(["m", "hi", "--quantise"]) == ["m", "hi", "--quantise", BESIDE]
    assert with_values([]) == []
