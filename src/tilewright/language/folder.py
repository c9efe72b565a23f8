"""The folder of a language model: both networks, kernels and runtime, sampler and tokenizer, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from tilewright.codegen import binary_data, c_data
from tilewright.codegen.cluster_program import opening
from tilewright.codegen.kernels import PREFIX_FILE, Instance, headers, prefixes, prototypes
from tilewright.codegen.network import Writer
from tilewright.codegen.text_of import text_of
from tilewright.codegen.texts import Text, Texts
from tilewright.ir.types import TensorType
from tilewright.language.decoder import Facts
from tilewright.language.modes import DECODE, PREFILL, Modes
from tilewright.language.places import Place, place_of
from tilewright.language.sampler import LogitScale, sampler_files
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files

FOLDER = Path(__file__).parent / "c"
SOURCES = ("language_model.c", "language_model.h", "talk.c", "talk.h")
HOST_PROGRAM, CLUSTER_PROGRAM = "host_program.c", "cluster_program.c"
TEXT_BYTES_PER_TOKEN = 8
"""Of the longest text that a program reads at once."""
SCRATCH_WORDS_PER_BYTE, SCRATCH_WORDS = 6, 64
"""What the tokenizer needs to read it, if the text is a single word."""


@dataclass(frozen=True)
class ModelC:
    """A language model as C."""

    modes: Modes
    config: Facts
    tokenizer: Tokenizer
    context: int
    block: int
    scale: LogitScale | None
    """What scores are worth; None where they are floats."""
    is_tied: bool = False
    """Whether words are looked up in the head's weights."""

    @property
    def greedy(self) -> bool:
        """Whether decoding gives the most likely token alone."""
        return len(self.modes.decode.schedule.graph.outputs) == 1

    @property
    def name(self) -> str:
        return self.modes.name

    @property
    def ends(self) -> tuple[int, ...]:
        """Tokens that end a text: one that begins another does so too."""
        begin = self.config.begin
        return self.config.ends if begin is None else tuple(dict.fromkeys((*self.config.ends, begin)))

    @property
    def place(self) -> Place:
        return place_of(self.modes.decoding)

    @property
    def text_bytes(self) -> int:
        return text_bytes(self.context)

    @property
    def _scratch_words(self) -> int:
        forms = 3 if self.tokenizer.normaliser.nfc else 1
        return SCRATCH_WORDS_PER_BYTE * forms * self.text_bytes + SCRATCH_WORDS

    @cached_property
    def kernels(self) -> list[Instance]:
        """Of both networks, each once."""
        found: dict[Instance, bool] = {}
        for writer in self.modes.writers.values():
            for one in writer.kernels:
                found[one] = found.get(one, False) or one.has_native
        return [replace(one, has_native=native) for one, native in found.items()]

    def texts(self) -> Texts:
        """Relative path -> text of every file but the program that calls it and the constants."""
        texts: dict[str, Text] = {}
        for mode, writer in self.modes.writers.items():
            texts |= {f"{mode}/network.h": text_of(writer).header(), f"{mode}/network.c": text_of(writer).source()}
            texts |= {f"{mode}/network_data.h": c_data.header(writer)}
        texts |= self._kernel_texts()
        texts |= {name: (FOLDER / name).read_text() for name in SOURCES}
        texts |= sampler_files(self.scale is None, self.greedy)
        texts |= tokenizer_files(self.tokenizer, self.name)
        texts |= {f"{self.name}.h": self._header(), "calls.h": self._calls(), "words.h": self._words()}
        return Texts(texts | self.place.runtime_files(self.modes.decoding))

    def _kernel_texts(self) -> dict[str, str]:
        used, target = self.kernels, self.modes.decoding.schedule.target
        texts = {
            "kernels/kernels.h": prototypes(used),
            f"kernels/{PREFIX_FILE}": prefixes(used, self.modes.decoding.kernel_prefix),
        }
        texts |= {f"kernels/{instance.file}": instance.text(target.kernel_text) for instance in used}
        return texts | {f"kernels/{header}": text for header, text in headers(used, target.kernel_text).items()}

    def constants(self) -> dict[str, Text]:
        """As C."""
        return {f"{mode}/network_data.c": partial(c_data.source, writer) for mode, writer in self.modes.writers.items()}

    def constant_bytes(self) -> tuple[dict[str, str], dict[str, bytes]]:
        """As sources that an assembler reads, and the files of bytes that they take in."""
        sources, data = {}, {}
        for mode, writer in self.modes.writers.items():
            sources[f"{mode}/network_data.S"] = binary_data.source(writer, f"{mode}.bin")
            data[f"{mode}.bin"] = binary_data.data(writer)
        return sources, data

    # ---- headers ----------------------------------------------------------------------------------------------------

    def _header(self) -> str:
        name, macro = self.name, self.name.upper()
        return f"""\
/* A language model of {self.config.layers} layers, width {self.config.width}. Generated by Tilewright.
 *
 *   {name}_reset();
 *   {name}_prompt(tokens, count);
 *   for (;;) token = {name}_next();
 */
#ifndef {macro}_H
#define {macro}_H

#include <stdint.h>

#include "language_model.h"
#include "sampler.h"

#define {macro}_CONTEXT {self.context} /* tokens of its context */
#define {macro}_BLOCK {self.block} /* tokens per prefill step */
#define {macro}_VOCABULARY {self.config.words} /* tokens of its vocabulary */

/* Clears the context, and switches to greedy decoding. Call it before anything else. */
void {name}_reset(void);

/* Sets how the next tokens are chosen; the repetition penalty ignores tokens before this call.{self._only_greedy}
 * Returns 0, or an error below 0 (language_model.h). */
int32_t {name}_sampling(const tw_sampling *settings, uint64_t seed);

/* Appends tokens to the context. Returns 0, or an error below 0 and has appended nothing; after TW_MODEL_FAILED the
 * model needs a reset. */
int32_t {name}_prompt(const int32_t *tokens, int32_t count);

/* Returns the next token, and appends it to the context; or an error below 0. */
int32_t {name}_next(void);

/* The number of tokens in the context. */
int32_t {name}_length(void);

#endif
"""

    @property
    def _only_greedy(self) -> str:
        return (
            "\n * This program is greedy and has no logits: it refuses all but temperature 0 without a penalty."
            if self.greedy
            else ""
        )

    def _calls(self) -> str:
        """What language_model.c knows of this model."""
        macro, writer = self.name.upper(), self.modes.decoding
        return f"""\
/* How the networks of {self.name} are called. Generated by Tilewright. */
#ifndef {macro}_CALLS_H
#define {macro}_CALLS_H

#include <stddef.h>

#include "{self.name}.h"
#include "{DECODE}/network.h"
#include "{PREFILL}/network.h"

#define TW_LM_FUNCTION(name) {self.name}_##name
#define TW_LM_CONTEXT {macro}_CONTEXT
#define TW_LM_BLOCK {macro}_BLOCK
#define TW_LM_BLOCK_FROM {self.modes.block_from} /* from this many tokens on, a block is faster than single tokens */
#define TW_LM_VOCABULARY {macro}_VOCABULARY
#define TW_LM_GREEDY {int(self.greedy)} /* whether it always takes the most likely token */
#define TW_LM_TEXT_BYTES {self.text_bytes} /* of the longest text that is read at once */
#define TW_LM_SCRATCH_WORDS {self._scratch_words} /* for its tokens */

#ifdef TW_LM_CALLS
{self._buffers(writer)}
#endif

#endif
"""

    def _buffers(self, writer: Writer) -> str:
        scores = [f"static {writer.c_type_of(writer.schedule.graph.outputs[0])} logits[TW_LM_VOCABULARY];"]
        lines = [
            "static int32_t block[TW_LM_BLOCK], position[1];",
            *([] if self.greedy else scores),
            "static int64_t best[1]; /* the most likely token */",
            self._arena(),
            "",
            f"static int run_decode(void) {{ return {self._run(self.modes.decoding)}; }}",
            f"static int run_prefill(void) {{ return {self._run(self.modes.prefilling)}; }}",
            *([] if self.greedy else ["", "static tw_logits scores(void) {", *self._logits, "}"]),
        ]
        return "\n".join(lines)

    @property
    def _logits(self) -> list[str]:
        if self.scale is None:
            fixed = (
                "  static int32_t fixed[TW_LM_VOCABULARY];\n  tw_logits_from_float(logits, fixed, TW_LM_VOCABULARY);"
            )
            return [fixed, "  const tw_logits found = {fixed, 32, 0, 1, 16};", "  return found;"]
        kind: TensorType = self.modes.decode.schedule.graph.types[self.modes.decode.schedule.graph.outputs[0]]
        bits = 8 * kind.element.itemsize
        fields = f"logits, {bits}, {self.scale.zero_point}, {self.scale.multiplier}, {self.scale.shift}"
        return [f"  const tw_logits found = {{{fields}}};", "  return found;"]

    def _arena(self) -> str:
        return self.place.arena(self.modes.decoding, self.modes.arena, self.modes.arena_bytes)

    def _run(self, writer: Writer) -> str:
        known = {"ids": "block", "position": "position"}
        graph = writer.schedule.graph
        results = {0: [], 1: ["best"], 2: ["logits", "best"]}[len(graph.outputs)]
        arguments = [*(known[name] for name in graph.inputs), *results]
        return f"{writer.name}_run({', '.join([*arguments, *self.place.arguments])})"

    def _words(self) -> str:
        """What talk.c knows of the tokenizer."""
        macro = self.name.upper()
        ends = ", ".join(map(str, self.ends)) or "-1"
        return f"""\
/* The words of {self.name}. Generated by Tilewright. */
#ifndef {macro}_WORDS_H
#define {macro}_WORDS_H

#include "{self.name}_tokenizer.h"

#define TW_LM_TOKENIZER {self.name}_tokenizer
#define TW_LM_LONGEST_PIECE {macro}_LONGEST_PIECE

/* Tokens that end a text. */
static const int32_t ends[] = {{{ends}}};

#endif
"""


def text_bytes(context: int) -> int:
    return TEXT_BYTES_PER_TOKEN * context


def program_bytes(context: int, words: int, composes: bool) -> int:
    """Bytes of L2 that a program has besides its networks: text, its tokens, scratch memory, and scores of words."""
    scratch = 4 * (SCRATCH_WORDS_PER_BYTE * (3 if composes else 1) * text_bytes(context) + SCRATCH_WORDS)
    return scratch + text_bytes(context) + 4 * context + 4 * words + words // 8 + 4096


def prepare_header(model: ModelC) -> str:
    """program_prepare.h: what the program on a chip does first."""
    writers = list(model.modes.writers.values())
    memories = writers[0].memories
    opened = [memory for memory in memories.behind if any(memory in writer.opened for writer in writers)]
    filled = [memory for memory in opened if any(writer.stored(memory) for writer in writers)]
    placed = f'__attribute__((section("{memories.home.section}"), aligned(16)))'
    lines = [f"static uint8_t staging[2048] {placed};"] if filled else []
    lines += [line for memory in opened for line in opening(memory, memory in filled)]
    body = "\n".join(f"  {line}" for line in lines)
    include = "".join(f'#include "runtime/{memory.symbol}.h"\n' for memory in opened)
    return f"""\
#include "calls.h"
{include}
static void program_prepare(void) {{
{body}
}}
"""
