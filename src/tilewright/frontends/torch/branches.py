"""Branches that the inputs of a recorded module decide: both ways are recorded, and the results of one are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.torch.recording import Decision, Raises, recorded
from tilewright.frontends.torch.tape import Call, Ref, Tape, leaves, mapped

MOST_RUNS = 16
"""Of a module: three branches one behind the other, each with its own way on."""


def tape_of(
    copied: Callable[[], Any], positional: tuple[Any, ...], named: Mapping[str, Any], seed: int | None = None
) -> Tape:
    """All that a module may do with inputs of these shapes. Raises `Refusal` where it cannot be written down."""
    runs = 0

    def explored(taken: tuple[bool, ...]) -> Tape:
        nonlocal runs
        runs += 1
        if runs > MOST_RUNS:
            raise Refusal(f"the inputs decide branches in more than {MOST_RUNS} ways")
        found = recorded(copied(), positional, named, taken, seed)
        if len(found.decisions) == len(taken):
            return found.tape
        ways = [_tried(explored, (*taken, way)) for way in (True, False)]
        return _joined(found.decisions[len(taken)], *ways)

    return explored(())


def _tried(explored: Callable[[tuple[bool, ...]], Tape], taken: tuple[bool, ...]) -> Tape | Raises:
    try:
        return explored(taken)
    except Raises as error:
        return error


def _joined(decision: Decision, then: Tape | Raises, other: Tape | Raises) -> Tape:
    """One tape for both ways of a branch; one that the module ends with an error is no way."""
    if isinstance(then, Raises):
        return _alone(other, then)
    if isinstance(other, Raises):
        return _alone(then, other)
    if same(then, other):
        return replace(then, notes=_notes(then, other))
    if decision.condition is None:
        raise Refusal("the inputs decide a branch by something other than a tensor")
    return _selected(then, other, decision)


def _alone(tape: Tape | Raises, error: Raises) -> Tape:
    """The only way of a branch."""
    if isinstance(tape, Raises):
        raise tape
    said = f"{error.what} for some inputs: the program does not, and what it computes of them has no meaning"
    return replace(tape, notes=(said, *tape.notes))


def _notes(*tapes: Tape) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for tape in tapes for note in tape.notes))


def same(one: Tape, other: Tape) -> bool:
    """Whether two tapes compute the same: a branch may only warn."""
    import torch

    if (one.inputs, one.calls) != (other.inputs, other.calls) or one.constants.keys() != other.constants.keys():
        return False
    pairs = ((value, other.constants[ref]) for ref, value in one.constants.items())
    return _results(one) == _results(other) and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def _results(tape: Tape) -> list[Any]:
    import torch

    return list(torch.utils._pytree.tree_leaves(tape.results))


def _selected(then: Tape, other: Tape, decision: Decision) -> Tape:
    """Both ways, one behind the other, and of each pair of results the one that counts. What is done before the branch
    is done once, unless the first way writes to it; what the first way returns is kept from the second."""
    import torch

    ways = [tape.calls[decision.calls :] for tape in (then, other)]
    is_shared = _before(then, decision) == _before(other, decision) and not any(call.writes for call in ways[0])
    numbers = _Numbers(then, decision.calls if is_shared else 0, is_shared)
    numbers.share(then.constants, other.constants)
    copies = [] if is_shared else [Call(torch.clone, (ref,), {}, (numbers.of(ref),)) for ref in other.inputs]
    kept = {ref: numbers.new() for ref in leaves(_results(then), Ref)}
    keeping = [Call(torch.clone, (ref,), {}, (copy,)) for ref, copy in kept.items()]
    calls = [*copies, *then.calls, *keeping, *map(numbers.moved, ways[1] if is_shared else other.calls)]
    pairs = list(zip(mapped(_results(then), kept.get, Ref), _results(other), strict=False))
    if len(_results(then)) != len(_results(other)):
        raise Refusal("the inputs decide how many results there are")
    chosen = [numbers.new() for _ in pairs]
    for ref, (one, two) in zip(chosen, pairs, strict=True):
        calls.append(Call(_chosen, (decision.condition, one, numbers.of(two)), {}, (ref,)))
    structure = torch.utils._pytree.tree_structure(then.results)
    constants = {**{numbers.of(ref): value for ref, value in other.constants.items()}, **then.constants}
    results = torch.utils._pytree.tree_unflatten(chosen, structure)
    return Tape(then.inputs, constants, tuple(calls), results, _notes(then, other))


def _before(tape: Tape, decision: Decision) -> tuple[Call, ...]:
    return tape.calls[: decision.calls]


class _Numbers:
    """Numbers for the tensors of a second tape, behind those of a first one, with which it shares some."""

    def __init__(self, first: Tape, calls: int, has_inputs: bool) -> None:
        held = [ref for call in first.calls for ref in leaves((call.positional, dict(call.named), call.results), Ref)]
        shared = [ref for call in first.calls[:calls] for ref in leaves(call.results, Ref)]
        self.last = max(ref.number for ref in (*first.inputs, *first.constants, *held))
        self.found = {ref: ref for ref in (*shared, *(first.inputs if has_inputs else ()))}

    def share(self, first: Mapping[Ref, Any], second: Mapping[Ref, Any]) -> None:
        """Weights are the same memory in both tapes."""

        def place(value: Any) -> Any:
            return value.data_ptr(), value.shape, value.stride(), value.dtype

        places = {place(value): ref for ref, value in first.items() if value.numel()}
        self.found |= {ref: places[place(value)] for ref, value in second.items() if place(value) in places}

    def of(self, value: Any) -> Any:
        if not isinstance(value, Ref):
            return value
        if value not in self.found:
            self.found[value] = self.new()
        return self.found[value]

    def new(self) -> Ref:
        self.last += 1
        return Ref(self.last)

    def moved(self, call: Call) -> Call:
        operands = mapped((call.positional, dict(call.named)), self.of, Ref)
        return replace(call, positional=operands[0], named=operands[1], results=tuple(map(self.of, call.results)))


def _chosen(condition: Any, then: Any, other: Any) -> Any:
    import torch

    kinds = [(tuple(one.shape), one.dtype) if isinstance(one, torch.Tensor) else one for one in (then, other)]
    if kinds[0] != kinds[1]:
        raise Refusal(f"the inputs decide between results {kinds[0]} and {kinds[1]}")
    return torch.where(condition.reshape(()) != 0, then, other) if isinstance(then, torch.Tensor) else then
