"""Branches that the inputs of a recorded module decide: both ways are recorded, and the results of one are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.torch.recording import Decision, recorded
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


def _tried(explored: Callable[[tuple[bool, ...]], Tape], taken: tuple[bool, ...]) -> Tape | None:
    """None where the module itself raises an error on that way."""
    try:
        return explored(taken)
    except Refusal:
        raise
    except Exception:
        return None


def _joined(decision: Decision, then: Tape | None, other: Tape | None) -> Tape:
    """One tape for both ways of a branch; one that the module ends with an error is no way."""
    if then is None or other is None or same(then, other):
        tape = other if then is None else then
        if tape is None:
            raise Refusal("it fails on both ways of a branch")
        return tape
    if decision.condition is None:
        raise Refusal("the inputs decide a branch by something other than a tensor")
    return _selected(then, other, decision)


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
    is done once, unless the first way writes to it."""
    import torch

    is_shared = not any(call.writes for call in then.calls[decision.calls :])
    numbers = _Numbers(then, decision.calls if is_shared else 0, is_shared)
    numbers.share(then.constants, other.constants)
    copies = [] if is_shared else [Call(torch.clone, (ref,), {}, (numbers.of(ref),)) for ref in other.inputs]
    calls = [*copies, *then.calls, *map(numbers.moved, other.calls[decision.calls if is_shared else 0 :])]
    pairs = list(zip(_results(then), _results(other), strict=False))
    if len(_results(then)) != len(_results(other)):
        raise Refusal("the inputs decide how many results there are")
    chosen = [numbers.of(Ref(-1 - at)) for at in range(len(pairs))]
    for ref, (one, two) in zip(chosen, pairs, strict=True):
        calls.append(Call(_chosen, (decision.condition, one, numbers.of(two)), {}, (ref,)))
    structure = torch.utils._pytree.tree_structure(then.results)
    constants = {**{numbers.of(ref): value for ref, value in other.constants.items()}, **then.constants}
    return Tape(then.inputs, constants, tuple(calls), torch.utils._pytree.tree_unflatten(chosen, structure))


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
            self.last += 1
            self.found[value] = Ref(self.last)
        return self.found[value]

    def moved(self, call: Call) -> Call:
        operands = mapped((call.positional, dict(call.named)), self.of, Ref)
        return replace(call, positional=operands[0], named=operands[1], results=tuple(map(self.of, call.results)))


def _chosen(condition: Any, then: Any, other: Any) -> Any:
    import torch

    kinds = [(tuple(one.shape), one.dtype) if isinstance(one, torch.Tensor) else one for one in (then, other)]
    if kinds[0] != kinds[1]:
        raise Refusal(f"the inputs decide between results {kinds[0]} and {kinds[1]}")
    return torch.where(condition.reshape(()) != 0, then, other) if isinstance(then, torch.Tensor) else then
