"""Tokenizer and sampler on a 32-bit core give what they give here, and need nothing but themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.language.text.test_tokenizer_bin import file
from tests.sim.cv32e40p.kernels import FLAGS
from tests.sim.cv32e40p.verilated import BENCH
from tilewright.language.sampler import LogitScale, Sampler, Sampling, sampler_files
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import STRICT, find_compiler

PROMPT = "once there was the sand, and then \u00e9t\u00e9 \u4e2d."
VOCABULARY, DRAWS = 300, 12
SETTINGS = [Sampling(0.8, 40, 0.9, 1.1, 7), Sampling(1.0, seed=3), Sampling(), Sampling(2.0, 0, 0.5, 1.5, 2**63)]

PROGRAM = """
#include "sampler.h"
#include "small_tokenizer.h"

#define DRAWS %(draws)d
#define VOCABULARY %(vocabulary)d

static const tw_sampling settings[] = {%(settings)s};
static const uint64_t seeds[] = {%(seeds)s};
static const char prompt[] = {%(prompt)s};

int32_t tokens[128];
int32_t token_count;
char text[256];
int32_t text_bytes;
int32_t drawn[%(cases)d][DRAWS];

static uint32_t scratch[2048];
static tw_sampler sampler;
static uint32_t seen[TW_SAMPLER_SEEN_WORDS(VOCABULARY)];
static int16_t values[VOCABULARY];

static void fill(uint32_t step) {
    for (uint32_t i = 0; i < VOCABULARY; i++) values[i] = (int16_t)((i * i * 7919u + step * 104729u) %% 20011u);
}

static void draw(int32_t which) {
    const tw_logits logits = {values, 16, 100, 5, 14};
    tw_sampler_init(&sampler, &settings[which], seeds[which], VOCABULARY, seen);
    for (int32_t step = 0; step < DRAWS; step++) {
        fill((uint32_t)step / 4);
        drawn[which][step] = tw_sampler_next(&sampler, &logits);
        tw_sampler_saw(&sampler, drawn[which][step]);
    }
}

int kernel(void);
int kernel(void) {
    static tw_tokenizer_stream stream;
    token_count = tw_tokenizer_encode(&small_tokenizer, prompt, sizeof prompt, 1, tokens, 128, scratch, 2048);
    for (int32_t i = 0; i < token_count; i++)
        text_bytes += tw_tokenizer_decode(&small_tokenizer, &stream, tokens[i], text + text_bytes, 256 - text_bytes);
    for (int32_t which = 0; which < %(cases)d; which++) draw(which);
    return 0;
}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    """The simulator behind the end of the program."""
    folder = tmp_path_factory.mktemp("rv32")
    texts = {**tokenizer_files(load_tokenizer(file(folder)), "small"), **sampler_files(), "main.c": program()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="ascii")
    sources = [str(BENCH / "start.S"), *(name for name in texts if name.endswith(".c"))]
    machine = ["-mcpu=generic_rv32+m+c", "-O2", "-nostdlib", "-T", str(BENCH / "link.ld")]
    find_compiler().run([*FLAGS, *STRICT, *machine, *sources, "-o", "program.elf"], folder)
    simulator = Simulator("cv32e40p")
    simulator.load(read_elf(folder / "program.elf"))
    assert simulator.run_until("end")
    return simulator


def program() -> str:
    return PROGRAM % {
        "draws": DRAWS,
        "vocabulary": VOCABULARY,
        "settings": ", ".join(f"{{{', '.join(map(str, one.fixed))}}}" for one in SETTINGS),
        "seeds": ", ".join(f"UINT64_C({one.seed})" for one in SETTINGS),
        "prompt": ", ".join(str(byte if byte < 128 else byte - 256) for byte in PROMPT.encode()),
        "cases": len(SETTINGS),
    }


def numbers(simulator: Simulator, name: str, count: int) -> list[int]:
    return np.frombuffer(simulator.read(name, 4 * count), np.int32).tolist()


@pytest.mark.in_turns(5)
def test_tokens_and_text(finished: Simulator, tmp_path: Path) -> None:
    wanted = load_tokenizer(file(tmp_path)).encode(PROMPT)
    assert numbers(finished, "token_count", 1) == [len(wanted)]
    assert numbers(finished, "tokens", len(wanted)) == wanted
    text = PROMPT.encode()
    assert numbers(finished, "text_bytes", 1) == [len(text)]
    assert finished.read("text", len(text)) == text


def test_draws(finished: Simulator) -> None:
    found = np.array(numbers(finished, "drawn", len(SETTINGS) * DRAWS)).reshape(-1, DRAWS)
    for sampling, row in zip(SETTINGS, found.tolist(), strict=True):
        sampler, wanted = Sampler(sampling, VOCABULARY), []
        for step in range(DRAWS):
            wanted.append(sampler.next(logits(step // 4), LogitScale(5, 14, 100)))
            sampler.saw(wanted[-1])
        assert row == wanted


def logits(step: int) -> np.ndarray:
    places = np.arange(VOCABULARY, dtype=np.uint32)
    return ((places * places * 7919 + step * 104729) % 20011).astype(np.int16)
