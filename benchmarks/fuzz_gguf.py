"""Damaged GGUF files: every one must become C or be refused with a CompileError, in bounded time and memory.

    python -m benchmarks.fuzz_gguf --cases 5000 --seed 1

Seeds are small decoders with tokenizers and a chat template, in several architectures and formats of blocks. Each case
damages some bytes, or puts numbers that matter where a number may be; weights, tokenizer and template are read, a
message is written, the network is made, and that of some becomes C. Workers are those of benchmarks/fuzz.py.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from benchmarks.fuzz import Case, Worker, command, run_all
from benchmarks.fuzz_mutations import flip_bytes, overwrite, truncate
from tests.frontends.checkpoint import gguf_small
from tests.frontends.checkpoint.small import CASES, LLAMA, QWEN2, STABLELM, Json, tensors
from tests.language.text.test_tokenizer_gguf import CUTTINGS, keys
from tests.support.block_cases import blocks
from tests.support.gguf_made import gguf

from tilewright.frontends.checkpoint.gguf_blocks import NUMBERS

WIDE: Json = {"hidden_size": 256, "intermediate_size": 256}
TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role }}: {{ m.content | trim }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
WORDS = ("token_embd.weight", "output.weight")
MESSAGES = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"})
BLOCKS = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "F16", "BF16")
NUMBERS_THAT_MATTER = (
    0, 1, 2, 3, 4, 8, 31, 32, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
FLOAT_BITS = (0x7F800000, 0x7FC00000, 0x00000001, 0x7F7FFFFF, 0xBF800000, 0x3F800000, 0)
CONTEXT = 32
HEADER = 24
HEADER_SHARE = 0.6
"""Of the changes, those in what the file says before its weights."""


def seeds() -> list[tuple[str, bytes]]:
    return [(f"{name}_{kind}", _file(name, config, kind)) for name, config, kind in _kinds()]


def _kinds() -> Iterator[tuple[str, Json, str]]:
    for number, kind in enumerate(BLOCKS):
        name, config = (("llama", LLAMA), ("qwen2", QWEN2), ("stablelm", STABLELM))[number % 3]
        yield name, config | WIDE, kind
    yield "gpt2", CASES["gpt2"], "F32"


def _file(name: str, config: Json, kind: str) -> bytes:
    random = np.random.default_rng(3)
    words = keys("sentence piece") if name == "llama" else keys(*next(iter(CUTTINGS.items())))
    listed = words["tokenizer.ggml.tokens"]
    assert isinstance(listed, list)
    own = config | {"vocab_size": len(listed)}
    made = gguf_small.tensors(own, tensors(own))
    made |= {key: np.resize(made[key], (len(listed), made[key].shape[1])) for key in WORDS if key in made}
    if kind != "F32":
        made |= {
            key: (NUMBERS[kind], value.shape, blocks(random, kind, *value.shape, largest=0.001).tobytes())
            for key, value in made.items()
            if value.ndim == 2
        }  # type: ignore[assignment]
    return gguf(gguf_small.keys(own) | words | {"tokenizer.chat_template": TEMPLATE}, made)


def mutate(data: bytes, rng: Random) -> bytes:
    """A quarter by bytes; the others by one to four numbers, most of them before the weights."""
    if rng.random() < 0.25:
        return rng.choice((flip_bytes, truncate, overwrite))(data, rng)
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        _change_number(damaged, rng)
    return bytes(damaged)


def _change_number(damaged: bytearray, rng: Random) -> None:
    """Of one, four or eight bytes, anywhere: lengths, types, counts, shapes and places are not aligned."""
    width = rng.choice((1, 4, 4, 8, 8))
    said = damaged.find(b"blk.0") + 4000
    last = min(said, len(damaged)) if rng.random() < HEADER_SHARE else len(damaged)
    at = _near_a_key(damaged, rng, last) if rng.random() < 0.5 else rng.randrange(HEADER - 16, max(last - 8, HEADER))
    old = int.from_bytes(damaged[at : at + width], "little")
    near, any_number = old + rng.choice((-4, -1, 1, 4)), rng.randrange(2**16)
    choices = (rng.choice(NUMBERS_THAT_MATTER), rng.choice(FLOAT_BITS), near, any_number)
    damaged[at : at + width] = (rng.choice(choices) % 2 ** (8 * width)).to_bytes(width, "little")


def _near_a_key(damaged: bytearray, rng: Random, last: int) -> int:
    """Where a key's value, or what is said of a tensor, may be."""
    starts = [b"general.", b"llama.", b"qwen2.", b"stablelm.", b"gpt2.", b"tokenizer.", b"blk.0", b"output", b"token_"]
    at = damaged.find(rng.choice(starts), rng.randrange(last))
    return min(max(at, HEADER - 16) + rng.randint(-9, 60), len(damaged) - 8) if at >= 0 else HEADER


def run_case(data: bytes, parse: bool) -> str:
    """compiled, refused, or what went wrong."""
    from tilewright.errors import CompileError
    from tilewright.language.conversation.messages import checked
    from tilewright.language.conversation.template_files import read_talk
    from tilewright.language.model import LanguageModel

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(data)
        try:
            lm = LanguageModel.load(path)
            talk = read_talk(path, lm.tokenizer, None)
            if talk.template is not None:
                talk.template.tokens(checked(MESSAGES), lm.tokenizer)
            lm.decoder.graph(1, min(lm.usual_context, CONTEXT))
            if parse:
                lm.compile("cpu", context=min(lm.usual_context, CONTEXT))
        except CompileError as error:
            return "refused" if error.where and error.what else "BUG: an error without text"
        except BaseException as error:
            return _fault(error)
    return "compiled"


def _fault(error: BaseException) -> str:
    place, at = error.__traceback__, ""
    while place is not None:
        name = Path(place.tb_frame.f_code.co_filename)
        at = f"{name.name}:{place.tb_lineno}" if "tilewright" in name.parts else at
        place = place.tb_next
    return f"BUG: {type(error).__name__}: {error} at {at}"[:200]


def damaged(cases: int, seed: int, models: Sequence[tuple[str, bytes]]) -> Iterator[Case]:
    """Each case depends on its number and the seed only."""
    for number in range(cases):
        rng = Random(f"{seed}:{number}")
        name, data = rng.choice(models)
        yield Case(number, seed, name, mutate(data, rng))


def fuzz(cases: int, seed: int, jobs: int, keep: Path | None = None) -> Counter[str]:
    """Run the cases and count the outcomes; inputs that show a bug are kept in a folder if one is given."""
    for module in ("tilewright.language.model", "tilewright.language.compiling", "tilewright.language.reading"):
        importlib.import_module(module)  # loaded once, before the workers are forked
    os.environ["TILEWRIGHT_MODEL_CACHE_MB"] = "0"
    workers = [Worker(run_case) for _ in range(jobs)]
    try:
        return run_all(damaged(cases, seed, seeds()), workers, keep)
    finally:
        for worker in workers:
            worker.stop()


if __name__ == "__main__":
    sys.exit(command(fuzz, __doc__))
