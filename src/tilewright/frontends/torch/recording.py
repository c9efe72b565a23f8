"""Modules that torch.export cannot follow, recorded while they run on the example inputs.

Sizes and branches may come from tensors that no input has a part in: masks of ones, strides that are buffers. What the
inputs have no part in is a constant of the tape. Two watchers see to it that nothing else becomes one: every operation
of PyTorch passes on whether its operands depend on inputs, and where Python reads such a tensor, or one comes from
something that was not recorded, the module is refused. A branch that the inputs decide is taken as it is told to.

Python thus knows nothing of the inputs but the branches that were taken: an error that it raises is raised for all
inputs that lead there. One of an operation on tensors that depend on inputs may be one of these numbers alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.python_errors import is_ours, reason_of, user_line
from tilewright.frontends.torch import packed, unfollowed
from tilewright.frontends.torch.own import seeded
from tilewright.frontends.torch.tape import Call, Ref, Tape, leaves, mapped
from tilewright.frontends.torch.watcher import DRAWN, inputs_watcher
from tilewright.records import dataclass

READ_BY_PYTHON = ("tolist", "numpy", "__array__", "data_ptr", "__dlpack__", "__reduce_ex__", "__deepcopy__", "__set__")
"""Functions of a tensor that give its elements to what is not PyTorch, or replace them unseen."""

DECIDING = ("__bool__", "item", "is_nonzero")
"""Functions whose only operand is what decides."""

MOST_DECISIONS = 64
"""Branches on one way through a module: a loop that the inputs should end must end."""

READ = "Python reads a value that depends on the inputs"
BOTH_WAYS = "give example inputs with which every way of its branches runs, or choose by torch.where"


@dataclass(frozen=True)
class Decision:
    """A branch that the inputs decide."""

    calls: int
    """How many are made before it."""
    condition: Ref | None
    """One element that is not zero where the branch is taken, which nothing writes to; None where it is no tensor of
    the tape."""


@dataclass(frozen=True)
class Recording:
    tape: Tape
    decisions: tuple[Decision, ...]


class Raises(Refusal):
    """The module raises an error for all inputs that lead to where it does."""


def recorded(
    module: Any, positional: tuple[Any, ...], named: Mapping[str, Any], taken: Sequence[bool] = (),
    seed: int | None = None,
) -> Recording:  # fmt: skip
    """One run, in which the first decisions are what `taken` says, and others as the example inputs have them. Random
    numbers are constants if there is a seed for them. Raises `Refusal` where the inputs decide more than numbers and
    branches."""
    import torch

    positional, named = copy.deepcopy((positional, dict(named)))  # the module may write to them
    watcher = inputs_watcher(seed is not None)
    recorder = _recorder(watcher, taken)
    held = {name: (value, value._version) for name, value in module.named_buffers()}
    inputs = [leaf for leaf in torch.utils._pytree.tree_leaves((positional, named)) if isinstance(leaf, torch.Tensor)]
    refs = tuple(recorder.follow(tensor) for tensor in inputs)
    with torch.no_grad(), seeded(seed), _called_parts(module, recorder.parts), watcher, recorder:
        results = _run(recorder, bool(taken), lambda: module(*positional, **named))
    if _changed(held, module):
        raise Refusal("it changes its buffers, which a recorded module may not")
    if watcher.has_read:
        raise Refusal(READ)
    found = torch.utils._pytree.tree_map_only(torch.Tensor, recorder.ref, results)
    return Recording(Tape(refs, recorder.constants, tuple(recorder.calls), found), tuple(recorder.decisions))


def _run(recorder: Any, is_told: bool, module: Callable[[], Any]) -> Any:
    """The results of a module, unless an error was raised that the module may have caught."""
    found, raised = None, None
    try:
        found = module()
    except Exception as error:
        raised = error
    failed = recorder.failed
    if isinstance(failed, Refusal):
        raise failed from None
    if failed is not None and (is_told or failed is not raised):
        raise Refusal(f"{_described(failed)} with the numbers of the example inputs", BOTH_WAYS) from None
    if raised is None:
        return found
    if is_ours(raised) and not any(raised is one for one in recorder.raised):
        raise raised
    raise Raises(_described(raised)) from None


def _described(error: Exception) -> str:
    import torch

    return f"{user_line(error, torch) or 'it'} raises {type(error).__name__} ({reason_of(error)})"


def _changed(held: Mapping[str, tuple[Any, int]], module: Any) -> bool:
    """Whether buffers are other tensors now, or have been written to."""
    return any(
        name not in held or held[name][0] is not value or held[name][1] != value._version
        for name, value in module.named_buffers()
    )


@contextmanager
def _called_parts(module: Any, parts: list[str]) -> Iterator[None]:
    """Keeps a list of the parts of a module that are being called, from the outside in."""
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    names = {id(part): name for name, part in module.named_modules()}

    def enter(part: Any, _: Any) -> None:
        parts.append(names.get(id(part), parts[-1]))

    def leave(*_: Any) -> None:
        parts.pop()

    before, behind = register_module_forward_pre_hook(enter), register_module_forward_hook(leave)
    try:
        yield
    finally:
        before.remove()
        behind.remove()


# ---- calls ----------------------------------------------------------------------------------------------------------


def _recorder(watcher: Any, taken: Sequence[bool]) -> Any:
    """Notes the calls that depend on inputs."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Recorder(TorchFunctionMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.refs: dict[int, Ref] = {}
            """Of tensors that depend on inputs, by their identity."""
            self.known: dict[tuple[int, int], Ref] = {}
            """Of constants, by their identity and the number of times they were written to."""
            self.kept: list[Any] = []
            """Tensors that have a number, so that no other object gets their identity."""
            self.constants: dict[Ref, Any] = {}
            self.calls: list[Call] = []
            self.decisions: list[Decision] = []
            self.parts = [""]
            self.raised: list[Exception] = []
            """What PyTorch has raised."""
            self.failed: Exception | None = None
            """The first refusal, or error of PyTorch that may be one of these inputs' numbers alone."""

        def follow(self, tensor: Any) -> Ref:
            """The number of a tensor that depends on inputs."""
            watcher.add(tensor)
            if id(tensor) not in self.refs:
                self.refs[id(tensor)] = self._next(tensor)
            return self.refs[id(tensor)]

        def _next(self, tensor: Any) -> Ref:
            self.kept.append(tensor)
            return Ref(len(self.kept))

        def ref(self, tensor: Any) -> Ref:
            """The number of any tensor. A constant is what it is now: it may be written to later."""
            if watcher.is_drawn(tensor):
                raise Refusal(DRAWN)
            if id(tensor) in self.refs:
                return self.refs[id(tensor)]
            if watcher.depends(tensor):
                raise Refusal("a tensor depends on the inputs by something other than calls of PyTorch")
            key = id(tensor), tensor._version
            if key not in self.known:
                self.known[key] = self._next(tensor)
                is_weight = isinstance(tensor, torch.nn.Parameter)
                self.constants[self.known[key]] = tensor.detach() if is_weight else tensor.detach().clone()
            return self.known[key]

        def __torch_function__(self, function: Any, types: Any, positional: Any = (), named: Any = None) -> Any:
            if function is torch.Tensor.__iter__:
                return iter(self.__torch_function__(torch.Tensor.unbind, types, positional))
            try:
                return self._recorded(function, positional, named or {})
            except Refusal as refusal:
                self.failed = self.failed or refusal
                raise

        def _called(self, function: Any, positional: Any, named: Any) -> Any:
            """What PyTorch gives. Which types it takes does not depend on numbers."""
            try:
                return function(*positional, **named)
            except Exception as error:
                self.raised.append(error)
                if not isinstance(error, TypeError) and watcher.depends((positional, named)):
                    self.failed = self.failed or error
                raise

        def _recorded(self, function: Any, positional: Any, named: Any) -> Any:
            if not watcher.depends((positional, named)):
                return self._called(function, positional, named)
            name = getattr(function, "__name__", "")
            if name in READ_BY_PYTHON or watcher.has_read:
                raise Refusal(READ)
            before = [(tensor, tensor._version) for tensor in leaves((positional, named), torch.Tensor)]
            if watcher.is_drawn((positional, named)):
                return self._called(function, positional, named)
            written_out = self._written_out(function, positional)
            if written_out is not None:
                with self:
                    return written_out(*positional, **named)
            operands = mapped((positional[:1] + self._numbers(positional[1:]), named), self.ref, torch.Tensor)
            found = self._called(function, positional, named)
            if watcher.has_read:
                return self._decided(found, positional[0] if name in DECIDING else None)
            self._note(function, operands, found, [tensor for tensor, version in before if tensor._version != version])
            return found

        def _written_out(self, function: Any, positional: Any) -> Callable[..., Any] | None:
            """Calls that torch.export can follow, in place of one that it cannot."""
            found = packed.written_out(function, positional)
            if found is not None and not watcher.depends(positional[1]):
                return found
            return unfollowed.written_out(function)

        def _numbers(self, positional: Any) -> Any:
            """Arguments in which sizes that are constant tensors, in tuples and slices, are numbers."""

            def number(tensor: Any) -> Any:
                is_whole = not tensor.dim() and not tensor.is_floating_point() and tensor.dtype is not torch.bool
                return int(tensor) if is_whole and not watcher.depends(tensor) else tensor

            kinds = (list, tuple, slice)
            return tuple(mapped(one, number, torch.Tensor) if isinstance(one, kinds) else one for one in positional)

        def _decided(self, found: Any, condition: Any) -> bool:
            """What a branch is told, or else as the example inputs have it."""
            watcher.has_read = False
            if not isinstance(found, bool):
                raise Refusal(READ)
            if len(self.decisions) == MOST_DECISIONS:
                raise Refusal(f"the inputs decide more than {MOST_DECISIONS} branches")
            number = len(self.decisions)
            kept = None if condition is None else self._copied(condition)
            self.decisions.append(Decision(len(self.calls), kept))
            return taken[number] if number < len(taken) else found

        def _copied(self, tensor: Any) -> Ref:
            """What a tensor is now: it may be written to later."""
            held = self._next(tensor)
            self.calls.append(Call(torch.clone, (self.ref(tensor),), {}, (held,), part=self.parts[-1]))
            return held

        def _note(self, function: Any, operands: Any, found: Any, written: list[Any]) -> None:
            results = list(leaves(found, torch.Tensor))
            if not written and not any(map(watcher.depends, results)):
                return
            operands = mapped(operands, self._copies(written, operands).get, Ref)
            refs = tuple(self.follow(one) if watcher.depends(one) else None for one in results)
            shapes = tuple(tuple(one.shape) for one in results)
            self.calls.append(Call(function, operands[0], operands[1], refs, shapes, self.parts[-1], bool(written)))

        def _copies(self, written: list[Any], operands: Any) -> dict[Ref, Ref]:
            """Numbers of operands, with those of copies for constants that are written to."""
            numbers = {ref: ref for ref in leaves(operands, Ref)}
            for tensor in written:
                if id(tensor) in self.refs:
                    continue
                constant = next(
                    self.known[key] for version in range(tensor._version, -1, -1)
                    if (key := (id(tensor), version)) in self.known
                )  # fmt: skip
                if isinstance(tensor, torch.nn.Parameter):
                    raise Refusal("it writes to its parameters")
                numbers[constant] = self.follow(tensor)
                self.calls.append(Call(torch.clone, (constant,), {}, (numbers[constant],), part=self.parts[-1]))
            return numbers

    return Recorder()
