"""A module as a program of torch.export, by running it where torch.export cannot follow it, or follows another way."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tilewright.errors import Refusal
from tilewright.frontends.torch.branches import tape_of
from tilewright.frontends.torch.own import copied, seeded
from tilewright.frontends.torch.tape import replaying
from tilewright.records import dataclass

TOLERANCE = 0.01
"""Of a result's largest element: two runs of PyTorch on the same numbers are far closer, other computations far off."""


@dataclass(frozen=True)
class Followed:
    program: Any
    """Of torch.export."""
    notes: tuple[str, ...] = ()
    """What the user should know of it."""


def by_running(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any], seed: int | None = None) -> Followed:
    """The program of what a module does with inputs of these shapes; random numbers of a seed are constants of it.
    Raises `Refusal` where there is no such thing."""
    import torch

    tape = tape_of(lambda: copied(module), positional, named, seed)
    made = replaying(tape, module)
    for given in ((positional, dict(named)), _shuffled(positional, named)):
        if agree(module, made, *given, seed) is False:
            raise Refusal("it computes something else for other inputs than when it was recorded")
    with torch.no_grad():
        return Followed(torch.export.export(made, positional, dict(named)), tape.notes)


def agree(
    module: Any, other: Any, positional: tuple[Any, ...], named: Mapping[str, Any], seed: int | None = None
) -> bool | None:
    """Whether two modules give the same; None where the first one does not take the inputs."""
    import torch

    def results(of: Any) -> list[Any]:
        own = copy.deepcopy((positional, dict(named)))
        with torch.no_grad(), seeded(seed):
            found = of(*own[0], **own[1])
        return [leaf for leaf in torch.utils._pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]

    try:
        wanted = results(copied(module))
    except Exception:
        return None
    found = results(other)
    return len(found) == len(wanted) and all(map(_close, found, wanted))


def _close(found: Any, wanted: Any) -> bool:
    import torch

    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not (wanted.is_floating_point() or wanted.is_complex()) or not wanted.numel():
        return bool((found != wanted).sum() <= TOLERANCE * wanted.numel())
    finite = wanted.abs()[wanted.isfinite()]
    scale = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(found, wanted, rtol=0.0, atol=TOLERANCE * scale, equal_nan=True)


def _shuffled(positional: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Other inputs that a module should take as well: the elements of each in another order."""
    import torch

    drawn = torch.Generator().manual_seed(0)

    def shuffled(tensor: Any) -> Any:
        order = torch.randperm(tensor.numel(), generator=drawn)
        return tensor.detach().reshape(-1)[order].reshape(tensor.shape)

    found: tuple[tuple[Any, ...], dict[str, Any]] = torch.utils._pytree.tree_map_only(
        torch.Tensor, shuffled, (positional, dict(named))
    )
    return found
