"""Modules that torch.export cannot follow, recorded while they run on the example inputs.

Sizes and branches may come from tensors that no input has a part in: masks of ones, strides that are buffers. What the
inputs have no part in is a constant of the tape. Two watchers see to it that nothing else becomes one: every operation
of PyTorch passes on whether its operands depend on inputs, and where Python reads such a tensor, or one comes from
something that was not recorded, the module is refused. A branch that the inputs decide is taken as it is told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.torch.own import seeded
from tilewright.frontends.torch.tape import Call, Ref, Tape, leaves, mapped

SHAPES_ALONE = (
    "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones",
    "new_full", "new_empty", "new_empty_strided",
)  # fmt: skip
"""Operations that read the shape and the type of a tensor, not its elements."""

READ_BY_PYTHON = ("tolist", "numpy", "__array__", "data_ptr", "__dlpack__", "__reduce_ex__", "__deepcopy__", "__set__")
"""Functions of a tensor that give its elements to what is not PyTorch, or replace them unseen."""

DECIDING = ("__bool__", "item", "is_nonzero")
"""Functions whose only operand is what decides."""

MOST_DECISIONS = 64
"""Branches on one way through a module: a loop that the inputs should end must end."""

READ = "Python reads a value that depends on the inputs"
DRAWN = "it draws random numbers"


@dataclass(frozen=True)
class Decision:
    """A branch that the inputs decide."""

    calls: int
    """How many are made before it."""
    condition: Ref | None
    """One element that is not zero where the branch is taken; None where it is no tensor of the tape."""


@dataclass(frozen=True)
class Recording:
    tape: Tape
    decisions: tuple[Decision, ...]


def recorded(
    module: Any, positional: tuple[Any, ...], named: Mapping[str, Any], taken: Sequence[bool] = (),
    seed: int | None = None,
) -> Recording:  # fmt: skip
    """One run, in which the first decisions are what `taken` says, and others as the example inputs have them. Random
    numbers are constants if there is a seed for them. Raises `Refusal` where the inputs decide more than numbers and
    branches."""
    import torch

    watcher = _inputs_watcher(seed is not None)
    recorder = _recorder(watcher, taken)
    held = {name: (value, value._version) for name, value in module.named_buffers()}
    inputs = [leaf for leaf in torch.utils._pytree.tree_leaves((positional, named)) if isinstance(leaf, torch.Tensor)]
    refs = tuple(recorder.follow(tensor) for tensor in inputs)
    with torch.no_grad(), seeded(seed), _called_parts(module, recorder.parts), watcher, recorder:
        results = module(*positional, **named)
    if _changed(held, module):
        raise Refusal("it changes its buffers, which a recorded module may not")
    if watcher.has_read:
        raise Refusal(READ)
    found = torch.utils._pytree.tree_map_only(torch.Tensor, recorder.ref, results)
    return Recording(Tape(refs, recorder.constants, tuple(recorder.calls), found), tuple(recorder.decisions))


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


# ---- what depends on inputs -----------------------------------------------------------------------------------------


def _inputs_watcher(is_seeded: bool) -> Any:
    """Knows the memory of all tensors that depend on inputs, or on random numbers without a seed."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    shapes_alone = {getattr(torch.ops.aten, name) for name in SHAPES_ALONE}

    class Watcher(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.storages: dict[int, Any] = {}
            """Kept, so that no other tensor gets their place."""
            self.drawn: set[int] = set()
            """Those of them that random numbers have a part in."""
            self.has_read = False
            """Whether an operation has given Python an element of such a tensor."""

        def add(self, tensor: Any, is_drawn: bool = False) -> None:
            storage = tensor.untyped_storage()
            self.storages[storage._cdata] = storage
            if is_drawn:
                self.drawn.add(storage._cdata)

        def depends(self, value: Any) -> bool:
            return any(one.untyped_storage()._cdata in self.storages for one in leaves(value, torch.Tensor))

        def is_drawn(self, value: Any) -> bool:
            return any(one.untyped_storage()._cdata in self.drawn for one in leaves(value, torch.Tensor))

        def __torch_dispatch__(self, function: Any, types: Any, positional: Any = (), named: Any = None) -> Any:
            operands = (positional, named or {})
            depends = self.depends(operands) and function.overloadpacket not in shapes_alone
            is_drawn = self.is_drawn(operands)
            if not is_seeded and not depends and torch.Tag.nondeterministic_seeded in function.tags:
                depends = is_drawn = True
            if depends and torch.Tag.data_dependent_output in function.tags:
                if is_drawn:
                    raise Refusal(DRAWN)
                self.has_read = True
            if depends and _has_open_size(function, positional):
                raise Refusal("the size of a tensor depends on the inputs")
            found = function(*positional, **(named or {}))
            if depends:
                for one in (*leaves(found, torch.Tensor), *_written(function, operands)):
                    self.add(one, is_drawn)
            return found

    return Watcher()


def _has_open_size(function: Any, positional: Any) -> bool:
    """Whether elements of operands decide the size of the result: of indices those do that are masks."""
    import torch

    if torch.Tag.dynamic_output_shape not in function.tags:
        return False
    masks = (torch.bool, torch.uint8)
    is_index = function is torch.ops.aten.index.Tensor
    return not is_index or any(one.dtype in masks for one in leaves(positional[1], torch.Tensor))


def _written(function: Any, operands: Any) -> Iterator[Any]:
    """The operands that an operation writes to."""
    import torch

    positional, named = operands
    for at, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = positional[at] if at < len(positional) else named.get(argument.name)
            yield from leaves(value, torch.Tensor)


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
            named = named or {}
            if function is torch.Tensor.__iter__:
                return iter(self.__torch_function__(torch.Tensor.unbind, types, positional))
            if not watcher.depends((positional, named)):
                return function(*positional, **named)
            name = getattr(function, "__name__", "")
            if name in READ_BY_PYTHON or watcher.has_read:
                raise Refusal(READ)
            before = [(tensor, tensor._version) for tensor in leaves((positional, named), torch.Tensor)]
            if watcher.is_drawn((positional, named)):
                return function(*positional, **named)
            operands = mapped((positional[:1] + self._numbers(positional[1:]), named), self.ref, torch.Tensor)
            found = function(*positional, **named)
            if watcher.has_read:
                return self._decided(found, operands[0][0] if name in DECIDING else None)
            self._note(function, operands, found, [tensor for tensor, version in before if tensor._version != version])
            return found

        def _numbers(self, positional: Any) -> Any:
            """Arguments in which sizes that are constant tensors, in tuples and slices, are numbers."""

            def number(tensor: Any) -> Any:
                is_whole = not tensor.dim() and not tensor.is_floating_point() and tensor.dtype is not torch.bool
                return int(tensor) if is_whole and not watcher.depends(tensor) else tensor

            kinds = (list, tuple, slice)
            return tuple(mapped(one, number, torch.Tensor) if isinstance(one, kinds) else one for one in positional)

        def _decided(self, found: Any, condition: Ref | None) -> bool:
            """What a branch is told, or else as the example inputs have it."""
            watcher.has_read = False
            if not isinstance(found, bool):
                raise Refusal(READ)
            if len(self.decisions) == MOST_DECISIONS:
                raise Refusal(f"the inputs decide more than {MOST_DECISIONS} branches")
            number = len(self.decisions)
            self.decisions.append(Decision(len(self.calls), condition))
            return taken[number] if number < len(taken) else found

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
