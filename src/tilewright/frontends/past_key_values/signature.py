"""What the inputs and outputs of an exported decoder are, by their names and axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import onnx

from tilewright.errors import CompileError, raise_all
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.types import Shape
from tilewright.records import dataclass

IDS, MASK, POSITIONS, BRANCH = "input_ids", "attention_mask", ("position_ids", "cache_position"), "use_cache_branch"
LOGITS = "logits"
LENGTHS = ("past_sequence_length", "total_sequence_length", "sequence_length")
"""Inputs that say how many tokens there are."""
CACHES = re.compile(r"(?:past|present)(?:_key_values)?[._]?(.+)")
"""How inputs and outputs with keys or values are called; what follows is the same for those that belong together."""


@dataclass(frozen=True)
class Past:
    """Keys, values, or both of one layer: an input and the output that it is of the call before."""

    name: str
    present: str
    tokens: int
    """The axis of tokens."""
    batch: int
    sizes: Shape
    """Of all axes; 1 for the batch, 0 for tokens."""

    def shape(self, tokens: int) -> Shape:
        return tuple(tokens if axis == self.tokens else size for axis, size in enumerate(self.sizes))


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of one graph; what it does not have is empty."""

    mask: str
    positions: str
    branch: str
    """An input that chooses between a graph without a past and one with it."""
    lengths: tuple[str, ...]
    past: tuple[Past, ...]
    presents: tuple[str, ...]
    logits: str

    @property
    def has_past(self) -> bool:
        return bool(self.past)


def signature_of(proto: onnx.ModelProto, where: str) -> Signature:
    """Refuses, by name, what is not understood."""
    inputs = {value.name: value for value in onnx_file.true_inputs(proto.graph)}
    outputs = {value.name: value for value in proto.graph.output}
    _check_ids(inputs, where)
    given = {name for name in inputs if CACHES.fullmatch(name) and name not in LENGTHS}
    presents = tuple(name for name in outputs if CACHES.fullmatch(name))
    known = {IDS, MASK, *POSITIONS, BRANCH, *LENGTHS}
    _refuse_others(set(inputs) - given - known, where)
    _check_axes(inputs, where)
    positions = [name for name in POSITIONS if name in inputs]
    if len(positions) > 1:
        raise CompileError(
            where, f"has both inputs {' and '.join(positions)}", "one of them is enough: export it again"
        )
    past = _pairs([inputs[name] for name in inputs if name in given], presents, where)
    return Signature(
        MASK if MASK in inputs else "", positions[0] if positions else "", BRANCH if BRANCH in inputs else "",
        tuple(name for name in LENGTHS if name in inputs), past, presents, _logits(list(outputs), presents, where),
    )  # fmt: skip


def _check_ids(inputs: Mapping[str, onnx.ValueInfoProto], where: str) -> None:
    if IDS not in inputs:
        listed = ", ".join(f"'{name}'" for name in [*inputs][:8])
        hint = (
            "a language model is a folder in Hugging Face's format, a .gguf file, a .bin file of llama2.c, or an "
            f"exported decoder with that input; this network has the inputs {listed}: tilewright run {where}"
        )
        raise CompileError(where, f"has no input '{IDS}' for the token numbers", hint)
    dims = _dims(inputs[IDS])
    if len(dims) != 2:
        raise CompileError(f"{where}, input '{IDS}'", f"has {len(dims)} axes", "[batch, tokens] is expected")
    if isinstance(dims[1], int):
        raise CompileError(
            f"{where}, input '{IDS}'", f"axis 1 (tokens) is fixed at {dims[1]}",
            "export it with a dynamic axis, or put the graph that reads prompts beside it (model.onnx)",
        )  # fmt: skip


AXES = {
    MASK: (2, "[batch, tokens], 1 where one is seen"),
    POSITIONS[0]: (2, "[batch, tokens]"),
    POSITIONS[1]: (1, "[tokens]"),
}


def _check_axes(inputs: Mapping[str, onnx.ValueInfoProto], where: str) -> None:
    for name, (rank, wanted) in AXES.items():
        found = len(_dims(inputs[name])) if name in inputs else rank
        if found != rank:
            raise CompileError(f"{where}, input '{name}'", f"has {found} axes", f"{wanted} is expected")


def _refuse_others(names: set[str], where: str) -> None:
    if names:
        listed = ", ".join(f"'{name}'" for name in sorted(names)[:8])
        raise CompileError(
            where, f"has inputs that a text decoder does not have: {listed}",
            f"{IDS}, {MASK}, {POSITIONS[0]} and past_key_values are known: export it without the others",
        )  # fmt: skip


def _logits(outputs: Sequence[str], presents: Sequence[str], where: str) -> str:
    left = [name for name in outputs if name not in presents]
    if LOGITS in left or len(left) == 1:
        return LOGITS if LOGITS in left else left[0]
    listed = ", ".join(f"'{name}'" for name in outputs[:8])
    raise CompileError(
        where, f"has no output '{LOGITS}' with the scores of the next token", f"its outputs are {listed}"
    )


# ---- keys and values ------------------------------------------------------------------------------------------------


def _pairs(past: Sequence[onnx.ValueInfoProto], presents: Sequence[str], where: str) -> tuple[Past, ...]:
    """Each input with its output; all that have no partner are named."""
    if not past:
        return ()
    by_end = {_end(name): name for name in presents}
    lone = [CompileError(
        f"{where}, input '{value.name}'",
        "has no matching output, which holds its keys or values and those of new tokens",
        f"'present.{_end(value.name)}' is expected; outputs: {_listed(presents)}",
    ) for value in past if _end(value.name) not in by_end]  # fmt: skip
    ends = {_end(value.name) for value in past}
    lone += [CompileError(
        f"{where}, output '{name}'", "has no matching input, which takes it in the next call",
        f"'past_key_values.{_end(name)}' is expected; inputs: {_listed([value.name for value in past])}",
    ) for name in presents if _end(name) not in ends]  # fmt: skip
    raise_all(lone)
    return tuple(_past(value, by_end[_end(value.name)], where) for value in past)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:4]) + (", ..." if len(names) > 4 else "")


def _end(name: str) -> str:
    found = CACHES.fullmatch(name)
    return found[1] if found else name


def _past(value: onnx.ValueInfoProto, present: str, where: str) -> Past:
    place, dims = f"{where}, input '{value.name}'", _dims(value)
    stacked = len(dims) == 5 and dims[0] == 2
    if len(dims) != 4 and not stacked:
        raise CompileError(
            place, f"its layout is not understood: {_shown(dims)}",
            "[batch, head, token, channel] is expected, or [2, batch, head, token, channel]",
        )  # fmt: skip
    batch = 1 if stacked else 0
    if dims[batch] not in (1, *(dim for dim in dims if isinstance(dim, str))):
        raise CompileError(place, f"axis {batch} (batch) is fixed at {dims[batch]}", "export it for one text at a time")
    open_axes = [axis for axis in range(batch + 1, len(dims)) if isinstance(dims[axis], str)]
    if not open_axes:
        raise CompileError(
            place, f"no axis is dynamic: {_shown(dims)}", "the axis of tokens must be one, so that the cache can grow"
        )
    if len(open_axes) > 1:
        raise CompileError(
            place, f"its layout is not understood: axes {', '.join(map(str, open_axes))} of {_shown(dims)} are dynamic",
            "export it with heads and channels as numbers; only batch and tokens may be dynamic",
        )  # fmt: skip
    sizes = [0 if axis == open_axes[0] else dim if isinstance(dim, int) else 1 for axis, dim in enumerate(dims)]
    return Past(value.name, present, open_axes[0], batch, tuple(sizes))


def _dims(value: onnx.ValueInfoProto) -> list[int | str]:
    """Sizes, and the names of those that are open."""
    return [
        int(dim.dim_value) if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0 else dim.dim_param or "?"
        for dim in value.type.tensor_type.shape.dim
    ]


def _shown(dims: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, dims))}]"
