"""The folder of a language model: both networks, kernels and runtime, sampler and tokenizer, and what joins them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from tilewright.codegen import binary_data, c_data, gpu_files
from tilewright.codegen.cluster_program import opening
from tilewright.codegen.gpu_text import memory_definition
from tilewright.codegen.kernels import PREFIX_FILE, Instance, headers, prefixes, prototypes
from tilewright.codegen.network import WEIGHTS_ALIGNMENT, Writer, runtime_functions
from tilewright.codegen.text_of import text_of
from tilewright.codegen.texts import Text, Texts
from tilewright.ir.graph import Graph, State
from tilewright.ir.types import TensorType
from tilewright.language import weights_file
from tilewright.language.decoder import Facts
from tilewright.language.modes import DECODE, PREFILL, Modes
from tilewright.language.places import Place, place_of
from tilewright.language.prompt import text_bytes
from tilewright.language.sampler import LogitScale, sampler_files
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_tables import tokenizer_files
from tilewright.language.weights_file import contents_of
from tilewright.ops.writerows import WriteRows
from tilewright.records import dataclass

FOLDER = Path(__file__).parent / "c"
SOURCES, TALKING = ("language_model.c", "language_model.h"), ("talk.c", "talk.h")
CLUSTER_PROGRAM = "cluster_program.c"
TEXT_STACK = 1024
"""Bytes that tokenizer and sampler may need of the first core's stack."""
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

    def mapped(self, is_mapped: bool = True) -> ModelC:
        """With its weights as a file, or as part of the program; on a chip they always are the latter."""
        if not self.place.keeps_states or self.modes.is_mapped == is_mapped:
            return self
        return replace(self, modes=replace(self.modes, is_mapped=is_mapped))

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
        """Relative path -> text of every file but the program that calls it, its tokenizer and the constants."""
        texts = {**self._library_texts, "calls.h": self._calls()}
        # The code of kernels for a GPU follows from their C.
        return Texts(texts | gpu_files.files(self.modes.decode.schedule, self.kernels, texts))

    def tokenizer_texts(self) -> dict[str, str]:
        """Tokenizer and sampler's program: what reads a text and says tokens, as C."""
        own = {name: (FOLDER / name).read_text() for name in TALKING}
        return {**own, **tokenizer_files(self.tokenizer, self.name), "words.h": self._words()}

    @cached_property
    def _library_texts(self) -> dict[str, Text]:
        """All that decides what a weights file has to be like."""
        texts: dict[str, Text] = {}
        for mode, writer in self.modes.writers.items():
            texts |= {f"{mode}/network.h": text_of(writer).header(), f"{mode}/network.c": text_of(writer).source()}
            texts |= {f"{mode}/network_data.h": c_data.header(writer)}
        texts |= self._kernel_texts()
        texts |= {name: (FOLDER / name).read_text() for name in (*SOURCES, *self.place.sources)}
        texts |= sampler_files(self.scale is None, self.greedy)
        texts |= {f"{self.name}.h": self._header()}
        if self.modes.gpu_memory:
            texts["gpu_memory.c"] = self._gpu_memory()
        return texts | self.place.runtime_files(self.modes.decoding)

    @cached_property
    def layout_number(self) -> int:
        """Tells this library from others that would read other weights, or keep other states."""
        texts = "\0".join(f"{name}\0{text}" for name, text in Texts(self._library_texts).items())
        return int.from_bytes(hashlib.sha256(texts.encode()).digest()[:8], "little")

    def _gpu_memory(self) -> str:
        """What the networks have in the memory of a GPU."""
        layout = self.modes.layout
        rows = [f"{{NULL, {size}, {layout.offsets[symbol]}}}" for symbol, size in layout.sizes.items()]
        kernels = gpu_files.gpu_kernels(self.modes.decode.schedule, self.kernels)
        arena = f"{self.name.upper()}_MEMORY_BYTES"
        memory = memory_definition(self.modes.gpu_memory, rows, arena, kernels, is_static=False)
        return f"""\
/* What the networks of {self.name} have in the memory of a GPU: parts of the weights, and arenas. */
#include "calls.h"
{memory}"""

    def write_weights(self, path: Path) -> None:
        """The file that the library maps."""
        weights_file.write(path, self.modes.writers.values(), self.modes.layout, self.layout_number)

    def _kernel_texts(self) -> dict[str, str]:
        used, writer = self.kernels, self.modes.decoding
        target = writer.schedule.target
        texts = {
            "kernels/kernels.h": prototypes(used),
            f"kernels/{PREFIX_FILE}": prefixes(used, writer.kernel_prefix, runtime_functions(writer.schedule)),
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
 *   {name}_prompt(&context, tokens, count);
 *   for (;;) token = {name}_next(&context);
 *
 * Nothing is kept but in contexts: several may be used at the same time, each by one thread. */
#ifndef {macro}_H
#define {macro}_H

#include <stddef.h>
#include <stdint.h>

#include "language_model.h"
#include "sampler.h"

#ifndef TW_LM_API
#define TW_LM_API
#endif

#define {macro}_CONTEXT {self.context} /* tokens of a context */
#define {macro}_BLOCK {self.block} /* tokens per prefill step */
#define {macro}_VOCABULARY {self.config.words} /* tokens of its vocabulary */
{self._memory_macros}
#ifdef __cplusplus
extern "C" {{
#endif
{self.place.types(name)}
/* One text. Only the functions below read or write its fields. */
typedef struct {{
{self._context_fields}
}} {name}_context;

{self.place.functions(name)}{self._threads}
/* Clears the context, and switches to greedy decoding.{self._first_call} */
TW_LM_API void {name}_reset({name}_context *context);

/* Sets how the next tokens are chosen; the repetition penalty ignores tokens before this call.{self._only_greedy}
 * Returns 0, or an error below 0 (language_model.h). */
TW_LM_API int32_t {name}_sampling({name}_context *context, const tw_sampling *settings, uint64_t seed);

/* A token that the repetition penalty counts, though it was not read since then. */
TW_LM_API void {name}_saw({name}_context *context, int32_t token);

/* Appends tokens. Returns 0, or an error below 0 and has appended nothing; after TW_MODEL_FAILED the context needs a
 * reset. */
TW_LM_API int32_t {name}_prompt({name}_context *context, const int32_t *tokens, int32_t count);

/* Returns the next token, and appends it; or an error below 0. */
TW_LM_API int32_t {name}_next({name}_context *context);

/* The same, and does not append it: give that or another one to {name}_prompt(). */
TW_LM_API int32_t {name}_choose({name}_context *context);

/* The number of tokens in the context. */
TW_LM_API int32_t {name}_length(const {name}_context *context);

/* Forgets all tokens behind the first `length`; if there are some, read one before the next is asked for. Returns 0, or
 * TW_MODEL_FULL if there are not as many. */
TW_LM_API int32_t {name}_keep({name}_context *context, int32_t length);
{self._state_functions}
#ifdef __cplusplus
}}
#endif

#endif
"""

    @property
    def _memory_macros(self) -> str:
        macro, modes, place = self.name.upper(), self.modes, self.place
        if not place.keeps_states:
            return ""
        sizes = f"""\
#define {macro}_MEMORY_BYTES {modes.arena_bytes} /* of a context, besides its struct */
#define {macro}_ALIGNMENT {place.alignment(modes.decoding)} /* of that memory */
"""
        return sizes + (f"#define {macro}_WEIGHTS_BYTES {modes.layout.bytes}\n" if place.is_mapped else "")

    @property
    def _context_fields(self) -> str:
        macro, writer = self.name.upper(), self.modes.decoding
        lines = [
            *self.place.fields,
            "int32_t held; /* tokens in the caches */",
            "int32_t given; /* the token that was given last and is not read yet, or -1 */",
            "int32_t is_scored; /* whether the network has said what the next token is */",
            "int32_t position[1];",
            *([] if self.modes.prefill is None else [f"int32_t block[{macro}_BLOCK];"]),
            "int64_t best[1]; /* the most likely token */",
        ]
        if not self.greedy:
            lines.append(f"{writer.c_type_of(writer.schedule.graph.outputs[0])} logits[{macro}_VOCABULARY];")
            lines += [f"int32_t fixed[{macro}_VOCABULARY]; /* logits as the sampler reads them */"] * (
                self.scale is None
            )
            lines += ["tw_sampler sampler;", f"uint32_t seen[TW_SAMPLER_SEEN_WORDS({macro}_VOCABULARY)];"]
        return "\n".join(f"  {line}" for line in lines)

    @property
    def _first_call(self) -> str:
        return "" if self.place.keeps_states else " Call it before anything else."

    @property
    def _only_greedy(self) -> str:
        return (
            "\n * This program is greedy and has no logits: it refuses all but temperature 0 without a penalty."
            if self.greedy
            else ""
        )

    @property
    def _has_threads(self) -> bool:
        return self.modes.decoding.schedule.target.agents.threads > 1

    @property
    def _threads(self) -> str:
        if not self._has_threads:
            return ""
        return f"""
/* Makes the threads that all contexts share: one of them has them at a time, others compute alone. Pinned, each stays
 * on a processor of its own. Returns 0, or 1 if the system refuses a thread. */
TW_LM_API int {self.name}_start_threads(int pinned);
/* Ends them; no context may be computing. */
TW_LM_API void {self.name}_stop_threads(void);
"""

    @property
    def _state_functions(self) -> str:
        if not self.place.keeps_states:
            return ""
        name = self.name
        scores = f"""
/* The scores of the next token, {name.upper()}_VOCABULARY of them. Returns 0, or TW_MODEL_NOTHING_READ. */
TW_LM_API int32_t {name}_scores({name}_context *context, float *to);
"""
        return f"""\
{"" if self.greedy else scores}
/* Bytes of the state: of what was read, and how tokens are chosen. */
TW_LM_API size_t {name}_state_bytes({name}_context *context);

/* Writes the state, as many bytes as that. Returns 0, or TW_MODEL_MEMORY if there is no room. */
TW_LM_API int32_t {name}_save({name}_context *context, void *to, size_t bytes);

/* Goes on from a state of the same library and weights. Returns 0, or TW_MODEL_STATE and has changed nothing. */
TW_LM_API int32_t {name}_restore({name}_context *context, const void *from, size_t bytes);
"""

    def _calls(self) -> str:
        """What language_model.c knows of this model."""
        macro = self.name.upper()
        return f"""\
/* How the networks of {self.name} are called. Generated by Tilewright. */
#ifndef {macro}_CALLS_H
#define {macro}_CALLS_H

#include <stddef.h>

#include "{self.name}.h"
#include "{DECODE}/network.h"
{self._prefill_header}
#define TW_LM_FUNCTION(name) {self.name}_##name
#define TW_LM_CONTEXT {macro}_CONTEXT
#define TW_LM_BLOCK {macro}_BLOCK
#define TW_LM_ANY_TOKENS {int(self.modes.prefill is None)} /* whether one network reads any number of them */
#define TW_LM_BLOCK_FROM {self.modes.block_from} /* from this many tokens on, a block is faster than single tokens */
#define TW_LM_VOCABULARY {macro}_VOCABULARY
#define TW_LM_GREEDY {int(self.greedy)} /* whether it always takes the most likely token */
#define TW_LM_TEXT_BYTES {self.text_bytes} /* of the longest text that is read at once */
#define TW_LM_SCRATCH_WORDS {self._scratch_words} /* for its tokens */
{self._state_calls()}
#ifdef TW_LM_CALLS
{self._runs()}
#endif

#endif
"""

    def _runs(self) -> str:
        name, place, modes = self.name, self.place, self.modes
        lines = [
            *filter(None, [place.arena(modes.decoding, modes.arena, modes.arena_bytes)]),
            *self._network_calls(),
            *([] if self.greedy else ["", f"static tw_logits scores({name}_context *c) {{", *self._logits, "}"]),
        ]
        if self._has_threads:
            started, ended = (f"{modes.decoding.name}_{what}_threads" for what in ("start", "stop"))
            lines += ["", f"int {name}_start_threads(int pinned) {{ return {started}(pinned); }}"]
            lines += [f"void {name}_stop_threads(void) {{ {ended}(); }}"]
        return "\n".join(lines)

    @property
    def _prefill_header(self) -> str:
        return "" if self.modes.prefill is None else f'#include "{PREFILL}/network.h"\n'

    def _network_calls(self) -> list[str]:
        name, modes = self.name, self.modes
        if modes.prefilling is None:
            return [
                f"static int run_tokens({name}_context *c, const int32_t *tokens, int32_t count) {{",
                f"  return {self._run(modes.decoding, 'tokens')};",
                "}",
            ]
        return [
            f"static int run_decode({name}_context *c) {{ return {self._run(modes.decoding)}; }}",
            f"static int run_prefill({name}_context *c) {{ return {self._run(modes.prefilling)}; }}",
        ]

    def _state_calls(self) -> str:
        """What the files know that only programs with contexts of the caller's have."""
        macro, place = self.name.upper(), self.place
        if not place.keeps_states:
            return ""
        pinned = int(self.modes.decoding.schedule.target.agents.pins_threads)
        started = f"{self.name}_start_threads({pinned})" if self._has_threads else "0"
        contents = "(c)->contents" if place.is_mapped else f"UINT64_C({contents_of(self.modes.writers.values())})"
        weights = f"""\
#define TW_LM_WEIGHTS_MAGIC "{weights_file.MAGIC.decode()}"
#define TW_LM_WEIGHTS_VERSION {weights_file.VERSION}
#define TW_LM_WEIGHTS_BYTES {macro}_WEIGHTS_BYTES
#define TW_LM_WEIGHTS_ALIGNMENT {WEIGHTS_ALIGNMENT}
"""
        return f"""\
#define TW_LM_MEMORY_BYTES {macro}_MEMORY_BYTES
#define TW_LM_ALIGNMENT {macro}_ALIGNMENT
#define TW_LM_MAPPED {int(place.is_mapped)} /* whether weights are a file */
#define TW_LM_THREADS_START {started}
#define TW_LM_LAYOUT UINT64_C({self.layout_number}) /* which library */
#define TW_LM_CONTENTS(c) {contents} /* which weights */
{weights if place.is_mapped else ""}{self._gpu_calls()}
#ifdef TW_LM_STATES
{self._caches()}
#endif
"""

    def _gpu_calls(self) -> str:
        """What is known of a GPU."""
        memory, network = self.modes.gpu_memory, f"{self.modes.decoding.name}_on_gpu"
        if not memory:
            return "#define TW_LM_ON_GPU 0\n"
        return f"""\
#define TW_LM_ON_GPU 1
#define TW_LM_GPU_MEMORY {memory}
#define TW_LM_GPU_NETWORK {network} /* one of those that have it */

#include "kernels/{PREFIX_FILE}"

#include "kernels/{gpu_files.HEADER}"

extern tw_gpu_memory {memory};
extern const tw_gpu_network {network};
"""

    def _caches(self) -> str:
        """Where they lie in a context's memory, and how a score becomes a float."""
        schedule = self.modes.decode.schedule
        rows = []
        for state in schedule.graph.states:
            kind, at = schedule.graph.types[state.before], schedule.homes[state.before].offset
            together = self._tokens_together(schedule.graph, state)
            row = kind.bytes // kind.shape[1] if together else 0
            rows.append(f"  {{{at}, {row}, {kind.bytes}, {together or 1}}},")
        listed = "\n".join(rows)
        return f"""\
/* A row for each token, or each few of them, if row_bytes is not 0. */
typedef struct {{
  size_t offset, row_bytes, bytes, tokens;
}} cache;
static const cache caches[] = {{
{listed}
}};
#define TW_LM_SCORE(logit) {self._score}"""

    def _tokens_together(self, graph: Graph, state: State) -> int:
        """Tokens of a row of a cache; 0 of a state that has no rows of tokens."""
        writer, shape = graph.producers.get(state.after), graph.types[state.before].shape
        if writer is not None and isinstance(writer.op, WriteRows):
            return writer.op.tokens_together
        return int(len(shape) > 1 and shape[0] == 1 and shape[1] == self.context)

    @property
    def _score(self) -> str:
        if self.scale is None:
            return "(logit)"
        factor = self.scale.multiplier / 2.0**self.scale.shift
        return f"((float)((double)((logit) - ({self.scale.zero_point})) * {factor!r}))"

    @property
    def _logits(self) -> list[str]:
        if self.scale is None:
            fixed = "  tw_logits_from_float(c->logits, c->fixed, TW_LM_VOCABULARY);"
            return [fixed, "  const tw_logits found = {c->fixed, 32, 0, 1, 16};", "  return found;"]
        kind: TensorType = self.modes.decode.schedule.graph.types[self.modes.decode.schedule.graph.outputs[0]]
        bits = 8 * kind.element.itemsize
        fields = f"c->logits, {bits}, {self.scale.zero_point}, {self.scale.multiplier}, {self.scale.shift}"
        return [f"  const tw_logits found = {{{fields}}};", "  return found;"]

    def _run(self, writer: Writer, ids: str = "c->block") -> str:
        known = {"ids": ids, "position": "c->position"}
        graph = writer.schedule.graph
        results = {0: [], 1: ["c->best"], 2: ["c->logits", "c->best"]}[len(graph.outputs)]
        arguments = [*(known[name] for name in graph.inputs), *results, *["count"] * len(writer.sizes)]
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
