"""Which tensors depend on the inputs of a module that runs: every operation of PyTorch passes it on to its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.torch.tape import leaves

SHAPES_ALONE = (
    "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones",
    "new_full", "new_empty", "new_empty_strided",
)  # fmt: skip
"""Operations that read the shape and the type of a tensor, not its elements."""

DRAWN = "it draws random numbers"


def inputs_watcher(is_seeded: bool) -> Any:
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
