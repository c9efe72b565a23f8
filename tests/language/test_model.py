"""Tiny models that talk: the same text in Python, on this machine and on virtual SoCs, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support import talkers
from tests.support.float_instructions import float_instructions
from tilewright.errors import CompileError
from tilewright.language import compiling, greedy_head
from tilewright.language.generation import CONTEXT, END, TOKENS
from tilewright.language.known_models import KnownDecoder
from tilewright.language.memory_use import kept_bytes
from tilewright.language.model import LanguageModel
from tilewright.language.preparing import Quantising
from tilewright.language.reference import ReferenceSession
from tilewright.language.sampler import Sampling
from tilewright.language.saving import model_name
from tilewright.language.soc_session import SocSession
from tilewright.language.talking import Request, Said
from tilewright.language.text.piece_stream import PieceStream
from tilewright.language.text.tokenizer import Start, Tokenizer
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS
from tilewright.target.settings import Settings
from tilewright.toolchain.compiler import (
    BARE,
    build_program,
    compile_objects,
    find_compiler,
    find_cross_compiler,
    link_objects,
)

pytestmark = pytest.mark.in_turns(6)

QUANTISING = Quantising(talkers.TEXT, learn_rounding=False, samples=3)
SIZES = {"context": 40, "block": 4}
PROMPTS = ("A fox", "What a fine day!", "", "\u00e9\U0001f600")
SAMPLINGS = (Sampling(), Sampling(1.0, 40, 0.9, 1.2, seed=1), Sampling(0.7, seed=2**40))
GIVEN = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talkers.save(tmp_path_factory.mktemp("talkers") / "fox")


@pytest.fixture(scope="module")
def model(folder: Path) -> LanguageModel:
    """Of integers, on this machine."""
    return LanguageModel.load(folder).compile(quantise=QUANTISING, **SIZES)


@pytest.fixture(scope="module")
def on_siracusa(folder: Path) -> LanguageModel:
    return LanguageModel.load(folder).compile("siracusa", quantise=QUANTISING, **SIZES)


def tokens(lm: LanguageModel, prompt: str, sampling: Sampling) -> tuple[int, ...]:
    chosen = sampling.temperature, sampling.top_k, sampling.top_p, sampling.penalty, sampling.seed
    text = "".join(lm.generate(prompt, GIVEN, *chosen))
    assert lm.last is not None
    assert lm.last.text == text
    return lm.last.token_ids


def reference(lm: LanguageModel, prompt: str, sampling: Sampling) -> tuple[int, ...]:
    events = ReferenceSession(lm.compiled).talk(Request(prompt.encode(), GIVEN, sampling))
    return tuple(event.token for event in events if isinstance(event, Said))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_all_give_the_same_tokens(model: LanguageModel, on_siracusa: LanguageModel, sampling: Sampling) -> None:
    for prompt in PROMPTS:
        expected = reference(model, prompt, sampling)
        assert tokens(model, prompt, sampling) == expected
        assert tokens(on_siracusa, prompt, sampling) == expected


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("target", "engines"), [("generic", ()), ("siracusa", ()), ("siracusa", ("cluster",))])
def test_a_greedy_program_gives_the_same_tokens_without_scores(
    folder: Path, model: LanguageModel, target: str, engines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An accelerator stores them in parts; cores store the best of each block."""
    monkeypatch.setattr(greedy_head, "PART", 96)
    monkeypatch.setattr(greedy_head, "BLOCK", 20)
    settings = Settings(engines=engines, time_limit=1.0) if engines else None
    lm = LanguageModel.load(folder).compile(target, quantise=QUANTISING, greedy=True, settings=settings, **SIZES)
    nodes = lm.compiled.modes.decode.lowered.nodes
    assert any(isinstance(node.op, ArgMaxMatMul) for node in nodes) == (target == "generic" or engines == ("cluster",))
    for prompt in PROMPTS[:2]:
        expected = tokens(model, prompt, Sampling())
        assert reference(lm, prompt, Sampling()) == expected
        assert tokens(lm, prompt, Sampling()) == expected
    texts = lm.compiled.texts()
    assert "logits" not in texts["calls.h"]
    assert "has no logits" in texts["fox.h"]
    assert "sampler.c" not in texts
    with pytest.raises(CompileError, match="which a greedy program does not have"):
        lm.generate("A fox", GIVEN, temperature=0.7)


def test_the_public_name_is_there() -> None:
    assert tw.LanguageModel is LanguageModel


def test_what_a_text_took(model: LanguageModel, on_siracusa: LanguageModel) -> None:
    for lm in (model, on_siracusa):
        list(lm.generate("A fox met a hen", GIVEN))
        last = lm.last
        assert last is not None
        assert (last.prompt_tokens, last.tokens, last.stopped) == (16, GIVEN, TOKENS)
        assert last.tokens_per_second is not None
        assert last.prefill_tokens_per_second is not None
        assert last.tokens_per_second > 0
        assert last.prefill_tokens_per_second > 0
    assert last.hertz == 360_000_000
    assert last.microjoules_per_token is not None
    assert last.microjoules_per_token > 0
    assert last.bytes["L2"] > kept_bytes(on_siracusa.compiled)


def test_where_the_time_goes(on_siracusa: LanguageModel) -> None:
    list(on_siracusa.generate("A fox", GIVEN))
    shares = on_siracusa.spent()
    assert 0.9 < sum(one.share for one in shares) < 1.01
    assert {"QLinearAttention", "QLinearRowNorm"} <= {one.operator for one in shares}


def test_integers_only_means_no_float_instruction(on_siracusa: LanguageModel, folder: Path) -> None:
    session = on_siracusa.build()
    assert isinstance(session, SocSession)
    assert list(float_instructions(session.elf.read_bytes())) == []


@pytest.mark.in_turns(6)
def test_float_instructions_are_found_where_there_are_some(folder: Path) -> None:
    session = LanguageModel.load(folder).compile("siracusa", **SIZES).build()
    assert isinstance(session, SocSession)
    kinds = {line.split()[1] for line in float_instructions(session.elf.read_bytes())}
    assert {"load", "op"} <= kinds


def test_a_full_context_ends_the_text(model: LanguageModel) -> None:
    list(model.generate("A fox", 100, stop=False))
    assert model.last is not None
    assert model.last.stopped == CONTEXT
    assert model.last.prompt_tokens + model.last.tokens == model.compiled.context


def test_a_token_that_ends_texts_ends_them_if_wanted(model: LanguageModel) -> None:
    """At a high temperature one of the two that do comes soon, with some seed."""
    ends = (talkers.BEGIN, talkers.END)
    for seed in range(100):
        going_on = given(model, seed, stop=False)
        if any(token in ends for token in going_on):
            break
    last = next(at for at, token in enumerate(going_on) if token in ends)
    assert given(model, seed, stop=True) == going_on[: last + 1]
    assert model.last is not None
    assert model.last.stopped == END


def given(lm: LanguageModel, seed: int, stop: bool) -> tuple[int, ...]:
    list(lm.generate("A fox", 30, temperature=100.0, seed=seed, stop=stop))
    assert lm.last is not None
    return lm.last.token_ids


def test_who_stops_listening_still_learns_what_was_said(model: LanguageModel) -> None:
    pieces = model.generate("A fox", 20, stop=False)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert model.last is not None
    assert 0 < model.last.tokens < 20


@pytest.mark.in_turns(8)
def test_the_folder_builds_and_talks(model: LanguageModel, tmp_path: Path) -> None:
    files = model.save(tmp_path / "c")
    assert {"CMakeLists.txt", "main.c", "fox.h", "fox.weights", "decode/network.c", "prefill/network.c"} <= {*files}
    assert "decode/network_data.c" not in files
    built(tmp_path / "c", tmp_path / "talk")
    mapped = [tmp_path / "talk", tmp_path / "c" / "fox.weights"]
    done = subprocess.run([*mapped, "A fox", str(GIVEN)], check=True, capture_output=True)
    text = "".join(model.generate("A fox", GIVEN))
    assert done.stdout.decode("utf-8", "replace") == text + "\n"
    for words in (["A fox", "many"], []):
        assert subprocess.run([*mapped, *words], capture_output=True).returncode == 2
    made = (tmp_path / "c/CMakeLists.txt").read_text()
    assert "add_library(fox_model STATIC" in made
    assert {"fox_next", "FOX_CONTEXT", "fox_tokenizer", "fox_decode_run", "fox_prefill_run"} <= {*made.split()}
    assert "TW_LM_API" not in made.split()
    other = bytearray((tmp_path / "c" / "fox.weights").read_bytes())
    other[24] ^= 1  # a bit of the number that stands for the library
    for wrong in (bytes(other), b"", other[:100]):
        (tmp_path / "wrong").write_bytes(wrong)
        found = subprocess.run([tmp_path / "talk", tmp_path / "wrong", "A fox"], capture_output=True)
        assert (found.returncode, found.stdout) == (2, b"")
        assert b"the weights cannot be read, or are of another model" in found.stderr


@pytest.mark.in_turns(8)
def test_weights_may_be_part_of_the_program(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "c")
    files = model.save(tmp_path / "c", "c")  # over one with a file
    assert "decode/network_data.c" in files
    assert not (tmp_path / "c" / "fox.weights").exists()
    built(tmp_path / "c", tmp_path / "talk")
    done = subprocess.run([tmp_path / "talk", "A fox", str(GIVEN)], check=True, capture_output=True)
    assert done.stdout.decode("utf-8", "replace") == "".join(model.generate("A fox", GIVEN)) + "\n"
    with pytest.raises(CompileError, match="are unknown"):
        model.save(tmp_path / "c", "text")


def built(folder: Path, program: Path, without: str = "") -> None:
    """With no warning, as C99, beside the folder."""
    sources = [path for path in folder.rglob("*.c") if path.name != without]
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-I", folder.name]
    build_program(sources, flags, ["m"], program, find_compiler(), ["-O1", BARE])


DRAWS = """
#include <stdio.h>
#include <stdlib.h>

#include "fox.h"

static void say(fox_context *context) {
  const int32_t tokens[] = {3, 4, 5};
  fox_prompt(context, tokens, 3);
  for (int i = 0; i < 8; i++) printf("%d ", (int)fox_next(context));
  printf("\\n");
}

int main(int count, char **words) {
  const tw_sampling warm = {2 * TW_SAMPLER_ONE, 0, TW_SAMPLER_ONE, TW_SAMPLER_ONE, 0};
  static fox_context one, other;
  static unsigned char memory[2][(FOX_MEMORY_BYTES + 63) / 64 * 64] __attribute__((aligned(64)));
  static unsigned char state[1 << 20];
  fox_model model;
  if (count != 2 || fox_open(&model, words[1]) != 0) return 1;
  if (fox_begin(&one, &model, memory[0], FOX_MEMORY_BYTES - 1) != TW_MODEL_MEMORY) return 2;
  if (fox_begin(&one, &model, memory[0], FOX_MEMORY_BYTES) != 0) return 3;
  if (fox_begin(&other, &model, memory[1], FOX_MEMORY_BYTES) != 0) return 4;
  if (fox_next(&one) != TW_MODEL_NOTHING_READ) return 5;
  if (fox_sampling(&one, &warm, 5) != 0) return 6;
  say(&one);
  fox_reset(&one);
  if (fox_sampling(&one, &warm, 5) != 0) return 7;
  say(&one);
  fox_reset(&one);
  say(&one);
  /* One goes on where another one is, which is not disturbed by it. */
  const size_t bytes = fox_state_bytes(&one);
  if (fox_save(&one, state, bytes - 1) != TW_MODEL_MEMORY || fox_save(&one, state, bytes) != 0) return 8;
  say(&other);
  if (fox_restore(&other, state, bytes) != 0 || fox_length(&other) != fox_length(&one)) return 9;
  for (int i = 0; i < 8; i++)
    if (fox_next(&one) != fox_next(&other)) return 10;
  for (size_t i = 0; i < bytes; i += 97) {
    state[i] ^= 4;
    if (fox_restore(&one, state, bytes) != TW_MODEL_STATE || fox_length(&one) != fox_length(&other)) return 11;
    state[i] ^= 4;
  }
  fox_close(&model);
  return 0;
}
"""


def test_contexts_in_c(model: LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "c")
    (tmp_path / "c" / "main.c").write_text(DRAWS)
    built(tmp_path / "c", tmp_path / "draw", without="talk.c")
    done = subprocess.run([tmp_path / "draw", tmp_path / "c" / "fox.weights"], capture_output=True, text=True)
    assert done.returncode == 0
    first, again, greedy, other = done.stdout.splitlines()
    assert first == again != greedy == other


@pytest.mark.in_turns(6)
def test_the_folder_for_a_chip_has_its_program_and_runtime(on_siracusa: LanguageModel, tmp_path: Path) -> None:
    files = set(on_siracusa.save(tmp_path / "c"))
    assert {"cluster_program.c", "program_prepare.h", "runtime/crt0.S", "fox.h"} <= files
    assert not {"main.c", "runtime/program.c"} & files
    made = (tmp_path / "c/CMakeLists.txt").read_text()
    assert "add_library(fox_model STATIC" in made
    assert "  cluster_program.c" not in made
    session = on_siracusa.build()
    assert isinstance(session, SocSession)
    firmware = copy(session)
    firmware.elf = linked(tmp_path / "c", session)
    request = Request(b"A fox", GIVEN)
    expected = [event.token for event in session.talk(request) if isinstance(event, Said)]
    assert [event.token for event in firmware.talk(request) if isinstance(event, Said)] == expected


def linked(folder: Path, session: SocSession) -> Path:
    """A program of the folder as it is, with the stacks that its CMakeLists.txt asks for."""
    needs = re.search(
        r"foreach\(need CORES=(\d+) STACK_BYTES=(\d+) DMA_CORE_STACK_BYTES=(\d+)\)",
        (folder / "CMakeLists.txt").read_text(),
    )
    assert needs is not None
    names = ("CORES", "STACK_BYTES", "DMA_CORE_STACK_BYTES")
    defined = [f"-DTW_{name}={value}" for name, value in zip(names, needs.groups(), strict=True)]
    flags = [*session.target.flags, *WARNINGS, "-I", "runtime/libc", "-I", ".", *defined]
    sources = sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".S"))
    objects = compile_objects(dict.fromkeys(sources, flags), folder, find_cross_compiler())
    program = folder / "program.elf"
    link = [*session.target.flags, "-static", "-T", LINK_SCRIPT, "-Wl,--gc-sections"]
    link_objects(objects, [], program, find_cross_compiler(), link)
    return program


def test_foreign_files_are_not_overwritten(model: LanguageModel, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(CompileError, match=r"holds other files: diary\.txt"):
        model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


# ---- sessions -------------------------------------------------------------------------------------------------------


def test_contexts_know_nothing_of_each_other(model: LanguageModel) -> None:
    one, other = model.session(), model.session()
    one.read([3, 4, 5, 6, 7, 8])
    state, scores = one.save(), one.scores()
    other.read([9, 10])
    np.testing.assert_array_equal(one.scores(), scores)
    other.restore(state)
    assert other.length == 6
    assert other.choose() == one.choose() == scores.argmax()
    np.testing.assert_array_equal(other.scores(), scores)
    other.read([11])
    one.keep(3)
    one.read([6, 7, 8, 11])
    assert np.abs(one.scores() - other.scores()).max() == 0
    one.reset()
    assert (one.length, one.context, one.words) == (0, SIZES["context"], scores.size)
    one.close()
    assert other.length == 7


def test_a_session_draws_as_a_text_is_drawn(model: LanguageModel) -> None:
    sampling, session = SAMPLINGS[1], model.session()
    session.sample(sampling)
    session.read(model.tokenizer.encode("A fox"))
    drawn: list[int] = []
    for _ in range(GIVEN):
        drawn.append(session.choose())
        session.read(drawn[-1:])
    assert tuple(drawn) == tokens(model, "A fox", sampling)


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda s: s.choose(), "there is no token to continue from"),
        (lambda s: s.read([3] * 41), "41 tokens behind 0 do not fit a context of 40"),
        (lambda s: s.read([3, 258]), "token 258: is not one of the 258"),
        (lambda s: s.read([-1]), "token -1"),
        (lambda s: s.keep(1), "1 tokens to keep: 0 were read"),
        (lambda s: s.restore(b"state" * 40), "state of 200 bytes: is of another model"),
        (lambda s: (s.close(), s.length), "is closed"),
    ],
)
def test_what_sessions_refuse(model: LanguageModel, use: Callable[[Any], object], what: str) -> None:
    with pytest.raises(CompileError, match=what):
        use(model.session())


def test_pieces_are_those_of_whole_texts() -> None:
    for start, dropped in ((Start.SPACES, 1), (Start.SPACES, 3), (Start.FIRST_TOKEN, 0), (Start.SPACES, 0)):
        known = Tokenizer((b" ", b"  a ", b"b", b"", b"\xc3"), {}, (), {}, start=start, dropped_spaces=dropped)
        for text in ([0, 0, 1, 2], [3, 1, 4, 9, 0], [2, 1], [0, 0, 0, 0, 2]):
            stream = PieceStream(known)
            assert b"".join(map(stream.piece, text)) == known.decode_bytes(text)
            before, after = (known.decode_bytes(text[:count]) for count in (1, 2))
            assert before + PieceStream(known, text[:1]).piece(text[1]) == after


# ---- what is kept ---------------------------------------------------------------------------------------------------


class Compiled(Exception):
    """What was kept did not do."""


def test_what_was_built_before_is_opened_at_once(
    model: LanguageModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_model(*given: object, **options: object) -> None:
        raise Compiled

    wanted = tokens(model, "A fox", Sampling())
    monkeypatch.setattr(compiling, "compile_model", compile_model)
    again = LanguageModel.load(folder).compile(quantise=QUANTISING, **SIZES)
    assert tokens(again, "A fox", Sampling()) == wanted
    assert again.description == model.description
    assert again._kept is not None
    with pytest.raises(Compiled):  # which has networks
        again.save("nowhere")
    with pytest.raises(Compiled):  # for another one
        again.compile(quantise=QUANTISING, context=39, block=4)
    weights = again._kept[0] / "fox.weights"
    data = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(data[:-64])
    with pytest.raises(Compiled):
        LanguageModel.load(folder).compile(quantise=QUANTISING, **SIZES)
    weights.write_bytes(bytes(64) + data[64:])
    damaged = LanguageModel.load(folder).compile(quantise=QUANTISING, **SIZES)
    with pytest.raises(Compiled):
        damaged.build()
    assert not weights.exists()


def test_a_model_whose_files_change_is_read_again(tmp_path: Path) -> None:
    folder = talkers.save(tmp_path / "fox")
    first = LanguageModel.load(folder)
    assert isinstance(LanguageModel.load(folder).decoder, KnownDecoder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    changed = LanguageModel.load(folder)
    assert changed._files != first._files
    assert not isinstance(changed.decoder, KnownDecoder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CompileError, match=r"model\.safetensors"):
        LanguageModel.load(folder)


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_a_model_that_is_not_compiled_says_so(folder: Path) -> None:
    lm = LanguageModel.load(folder)
    for call in (lambda: lm.generate("A"), lambda: lm.save("c"), lambda: lm.description):
        with pytest.raises(CompileError, match="is not compiled yet"):
            call()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"target": "nowhere"}, "target 'nowhere'"),
        ({"context": 65}, "is not within the 64 tokens that the model was trained for"),
        ({"context": 1}, "is not within the 64 tokens"),
        ({"context": 8, "block": 9}, "a context of 8 tokens holds no such block"),
        ({"block": 0}, "holds no such block"),
        ({"weight_bits": 4}, "are for quantised models"),
        ({"weight_bits": 9, "quantise": talkers.TEXT}, "are not supported"),
        ({"quantise": True}, r"calibration\.txt: cannot be read"),
        ({"quantise": Path("nothing.txt")}, r"nothing\.txt: cannot be read"),
        ({"quantise": "too short\n" * 2}, "calibration text: has 20 tokens"),
    ],
)
def test_what_cannot_be_compiled(folder: Path, options: dict[str, object], what: str) -> None:
    with pytest.raises(CompileError, match=what):
        LanguageModel.load(folder).compile(**options)  # type: ignore[arg-type]


def test_a_calibration_text_must_be_text(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"abc\xff")
    with pytest.raises(CompileError, match="is not UTF-8: byte 3 is 0xff"):
        LanguageModel.load(folder).compile(quantise=tmp_path / "t.txt")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tokens": -1}, "is no number of tokens"),
        ({"tokens": 1.5}, "is of type float"),
        ({"temperature": -0.1}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"prompt": b"\xff"}, "is not UTF-8"),
        ({"prompt": "a" * 60}, "has 61 tokens; a context of 40 holds 39"),
    ],
)
def test_what_is_refused_before_a_word_is_said(model: LanguageModel, options: dict[str, object], what: str) -> None:
    with pytest.raises(CompileError, match=what):
        model.generate(**{"prompt": "A fox", **options})  # type: ignore[arg-type]


def test_a_window_is_the_usual_context(folder: Path, tmp_path: Path) -> None:
    """Within it all layers see all there is; beyond it they see the last tokens."""
    shutil.copytree(folder, tmp_path / "near")
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 32}
    (tmp_path / "near" / "config.json").write_text(json.dumps(config))
    near = LanguageModel.load(tmp_path / "near")
    assert near.compile().compiled.context == 32
    far = near.compile(context=33).compiled
    assert {node.op.window for node in far.modes.decode.graph.nodes if isinstance(node.op, LimitedAttention)} == {32}


def test_a_model_without_a_first_token_needs_a_word(tmp_path: Path) -> None:
    lm = LanguageModel.load(talkers.save(tmp_path / "fox", begins=False))
    with pytest.raises(CompileError, match="is empty, and this model has no BOS token to start with"):
        lm.checked_prompt("")


def test_names_that_files_have_already(folder: Path) -> None:
    assert LanguageModel.load(folder).compile(name="talk", **SIZES).compiled.name == "model_talk"
    assert model_name("Math") == "model_math"


@pytest.mark.in_turns(6)
def test_a_vocabulary_that_was_rounded_up(tmp_path: Path) -> None:
    """Models have rows for tokens that their tokenizer does not know."""
    lm = LanguageModel.load(talkers.save(tmp_path / "fox", vocab_size=264)).compile(**SIZES)
    assert "".join(lm.generate("A fox", GIVEN))
    lm.save(tmp_path / "c")
    built(tmp_path / "c", tmp_path / "talk")
