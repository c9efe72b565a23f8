"""A module as the list of PyTorch calls that it made when it ran, which a module of ours makes again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.python_errors import reason_of
from tilewright.records import dataclass


@dataclass(frozen=True)
class Ref:
    """A tensor of a tape, by its number."""

    number: int


@dataclass(frozen=True)
class Call:
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    """With a `Ref` for each tensor."""
    named: Mapping[str, Any]
    results: tuple[Ref | None, ...]
    """Of all tensors that the call gives, in order; None where one is a constant."""
    shapes: tuple[tuple[int, ...], ...] | None = None
    """Of all tensors that the call gives: Python may have read them."""
    part: str = ""
    """The part of the module that calls."""
    writes: bool = False
    """Whether it changes one of its operands."""


@dataclass(frozen=True)
class Tape:
    inputs: tuple[Ref, ...]
    """Of all tensors among the arguments, in order."""
    constants: Mapping[Ref, Any]
    calls: tuple[Call, ...]
    results: Any
    """What the module returns, with a `Ref` for each tensor."""
    notes: tuple[str, ...] = ()
    """What the user should know."""


def mapped(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """An argument with its leaves of a kind changed; slices may hold tensors."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, slice):
        return slice(*(mapped(one, change, kind) for one in (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return {key: mapped(one, change, kind) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(one, change, kind) for one in value)
    return value


def leaves(value: Any, kind: type) -> Iterator[Any]:
    """Those of a kind, in order; what PyTorch returns are also tuples with names."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, slice):
        yield from leaves((value.start, value.stop, value.step), kind)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()), kind)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one, kind)


def replaying(tape: Tape, module: Any) -> Any:
    """A module with the signature of another one that makes the calls of its tape."""
    import torch

    outer = torch.nn.Module()
    for ref, value in tape.constants.items():
        outer.register_buffer(f"constant_{ref.number}", value)
    parts = {part: _part(outer, part) for part in {call.part for call in tape.calls}}

    def forward(*positional: Any, **named: Any) -> Any:
        given = [
            leaf for leaf in torch.utils._pytree.tree_leaves((positional, named)) if isinstance(leaf, torch.Tensor)
        ]
        values = dict(zip(tape.inputs, given, strict=True))
        values |= {ref: getattr(outer, f"constant_{ref.number}") for ref in tape.constants}
        for part, calls in _runs(tape.calls):
            make = parts[part] if part else _make
            make(calls, values)
        return torch.utils._pytree.tree_map_only(Ref, lambda ref: values[ref], tape.results)

    forward.__signature__ = inspect.signature(module.forward)  # type: ignore[attr-defined]
    outer.forward = forward  # arguments keep their names
    return outer.eval()


def _part(outer: Any, path: str) -> Any:
    """A module at a path, so that PyTorch names what it calls by that path."""
    import torch

    class Part(torch.nn.Module):  # type: ignore[misc]
        def forward(self, calls: Sequence[Call], values: dict[Ref, Any]) -> None:
            _make(calls, values)

    inner = outer
    for name in filter(None, path.split(".")):
        if name not in inner._modules:
            inner.add_module(name, Part())
        inner = inner._modules[name]
    return inner


def _runs(calls: Sequence[Call]) -> Iterator[tuple[str, list[Call]]]:
    """Consecutive calls of one part of the module."""
    run: list[Call] = []
    for call in calls:
        if run and run[-1].part != call.part:
            yield run[-1].part, run
            run = []
        run.append(call)
    if run:
        yield run[-1].part, run


def _make(calls: Sequence[Call], values: dict[Ref, Any]) -> None:
    import torch

    for call in calls:
        positional, named = mapped((call.positional, dict(call.named)), values.__getitem__, Ref)
        found = _again(call, positional, named)
        made = list(leaves(found, torch.Tensor))
        if call.shapes is not None and tuple(tuple(tensor.shape) for tensor in made) != call.shapes:
            raise Refusal("the size of a tensor depends on the inputs")
        values.update((ref, tensor) for ref, tensor in zip(call.results, made, strict=True) if ref is not None)


def _again(call: Call, positional: Any, named: Any) -> Any:
    try:
        return call.function(*positional, **named)
    except Refusal:
        raise
    except Exception as error:
        name = getattr(call.function, "__name__", "a call")
        raise Refusal(f"{name} fails where it is called again: {reason_of(error)}") from error
