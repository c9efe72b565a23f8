"""The options of a `config.json`: each is read with its type, and what nobody has read is not ignored."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from tilewright.errors import CompileError

HARMLESS = frozenset({
    "architectures", "attention_dropout", "attention_probs_dropout_prob", "attn_implementation", "attn_pdrop",
    "auto_map", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward", "classifier_dropout",
    "custom_pipelines", "decoder_start_token_id", "diversity_penalty", "do_sample", "dtype", "early_stopping",
    "embd_pdrop", "embed_dropout", "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "hidden_dropout",
    "id2label", "initializer_range", "is_decoder", "is_llama_config", "label2id", "length_penalty", "max_length",
    "min_length", "model_type", "n_ctx", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_past", "output_scores",
    "pad_token_id", "prefix", "pretraining_tp", "problem_type", "remove_invalid_values", "reorder_and_upcast_attn",
    "repetition_penalty", "resid_dropout", "resid_pdrop", "return_dict", "return_dict_in_generate", "sep_token_id",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "suppress_tokens", "task_specific_params", "temperature", "tokenizer_class", "top_k", "top_p", "torch_dtype",
    "torchscript", "transformers.js_config", "transformers_version", "typical_p", "unk_token_id", "unsloth_fixed",
    "unsloth_version", "use_bfloat16", "use_cache",
})  # fmt: skip
"""Of training, of sampling, of other tasks or of a library's workings: none changes the logits of a token, nor does
what begins with an underscore."""

LARGEST = 2**31 - 1
"""What a size may be: elements are counted in 32 bits."""


class Options:
    """What a JSON object holds; `where` names it in errors."""

    def __init__(self, where: str, found: Mapping[str, object]) -> None:
        self.where, self.found = where, found
        self.read = set[str]()

    def has(self, key: str) -> bool:
        """Whether it is there and says something."""
        self.read.add(key)
        return self.found.get(key) is not None

    def size(self, key: str, default: int | None = None) -> int:
        """A positive whole number."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
            raise self._wrong(key, value, f"a whole number from 1 to {LARGEST}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
            raise self._wrong(key, value, "a positive number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def choice(self, key: str, known: Mapping[str, str], default: str) -> str:
        """What a word that is known stands for."""
        value = self._value(key, default)
        if not isinstance(value, str) or value not in known:
            raise CompileError(
                self.where, f"{key} {_shown(value)} is not supported", f"supported: {', '.join(sorted(known))}"
            )
        return known[value]

    def fixed(self, key: str, only: object) -> None:
        """An option of which only one value is supported."""
        value = self._value(key, only)
        if value != only:
            what = f"{key} {_shown(value)} changes what the network computes and is not supported"
            raise CompileError(self.where, what, f"supported: {_shown(only)}")

    def one_of(self, *keys: str) -> str:
        """The key of several for one thing that is there; all that are must agree."""
        given = [key for key in keys if self.has(key)]
        for key in given[1:]:
            values = [_shown(self.found[one]) for one in (given[0], key)]
            self.check(values[0] == values[1], f"{given[0]} is {values[0]}, but {key} is {values[1]}")
        return given[0] if given else keys[-1]

    def kinds(self, key: str, known: Sequence[str]) -> set[str]:
        """The words in a list of words or of such lists, beside numbers; all of them must be known."""
        waiting, words = [*self.sequence(key)], set[str]()
        while waiting:
            found = waiting.pop()
            waiting += found if isinstance(found, list) else []
            words |= {found} if isinstance(found, str) else set()
        unknown = sorted(words - set(known))
        self.check(not unknown, f"{key}: {', '.join(unknown)} is not supported", f"supported: {', '.join(known)}")
        return words

    def check(self, holds: bool, what: str, hint: str = "check the file") -> None:
        if not holds:
            raise CompileError(self.where, what, hint)

    def tokens(self, key: str) -> tuple[int, ...]:
        """One token, several, or none."""
        value = self._value(key, ())
        values = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in values):
            raise self._wrong(key, value, "the number of a token, or several")
        return tuple(values)

    def inner(self, key: str) -> Options:
        """An object inside; without it an empty one."""
        value = self._value(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value, "an object")
        return Options(f"{self.where}: {key}", value)

    def sequence(self, key: str) -> Sequence[object]:
        value = self._value(key, ())
        if not isinstance(value, list | tuple):
            raise self._wrong(key, value, "a list")
        return value

    def finish(self) -> None:
        """Refuse what was not read and says something: it may change what the network computes."""
        said = {key: value for key, value in self.found.items() if value not in (None, False, [], {}, "")}
        unknown = sorted(key for key in said if key not in self.read | HARMLESS and not key.startswith("_"))
        if unknown:
            listed = ", ".join(f"{key} {_shown(said[key])}" for key in unknown[:8])
            raise CompileError(
                self.where, f"has unknown options: {listed}",
                "an option may change what the network computes; take it out of the file if this one does not",
            )  # fmt: skip

    def _value(self, key: str, default: object) -> object:
        self.read.add(key)
        value = self.found.get(key)
        if value is None:
            value = default
        if value is None:
            raise CompileError(self.where, f"has no {key}", "give the file that was saved with the weights")
        return value

    def _wrong(self, key: str, value: object, wanted: str) -> CompileError:
        return CompileError(self.where, f"{key} is {_shown(value)}, not {wanted}", "check the file")


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return repr(value) if isinstance(value, str) else text if len(text) <= 60 else f"{text[:57]}..."
