"""What PyTorch itself computes of the example inputs: results of the module, and of each operation on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tilewright.frontends.exported import Own, Step
from tilewright.frontends.quiet import silence
from tilewright.frontends.torch.names import place_of
from tilewright.ir.arrays import as_numpy
from tilewright.ir.types import Array


def of(
    model: Any, traced: Any, program: Any, tensors: Mapping[str, str], seed: int | None = None
) -> Callable[[], Own] | None:
    """Of a module, or of a program that knows example inputs. `program` is what was converted, and `tensors` what its
    nodes' results are called in the ONNX model."""
    if traced.example_inputs is None:
        return None

    def run() -> Own:
        with silence():
            results = _called(model, traced, seed)
        return Own(_inputs(traced), results, lambda: _steps(program, tensors))

    return run


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Random numbers of a seed, if there is one; the user's generator stays as it is."""
    import torch

    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def _called(model: Any, traced: Any, seed: int | None) -> list[Array]:
    """The results, of a module that stays as it is."""
    import torch

    positional, named = copy.deepcopy(traced.example_inputs)
    with torch.no_grad(), seeded(seed):
        module = copied(model) if isinstance(model, torch.nn.Module) else traced.module()
        results = module(*positional, **named)
    return [as_numpy(leaf) for leaf in torch.utils._pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]


def copied(module: Any, *shared: Any) -> Any:
    """A module that may be called without a trace in the user's; parameters and `shared` tensors are not copied.
    Weights that a hook computes before each call (`torch.nn.utils.weight_norm`) know their gradients, and cannot be
    copied as they are."""
    import torch

    kept = {id(tensor): tensor for tensor in (*module.parameters(), *shared)}
    held = [value for part in module.modules() for value in vars(part).values() if isinstance(value, torch.Tensor)]
    return copy.deepcopy(module, kept | {id(tensor): tensor.detach() for tensor in held if not tensor.is_leaf})


def _inputs(traced: Any) -> dict[str, Array]:
    """By the names that the program gives them; what is no tensor is part of the program."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(traced.example_inputs)
    specs = [spec for spec in traced.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    pairs = zip(specs, leaves, strict=True)
    return {spec.arg.name: as_numpy(leaf) for spec, leaf in pairs if isinstance(leaf, torch.Tensor)}


def _steps(program: Any, tensors: Mapping[str, str]) -> Iterator[Step]:
    """Every operation's result that the ONNX model has, in order."""
    import torch

    found: list[Step] = []

    class Watched(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, node: Any) -> Any:
            result = super().run_node(node)
            if node.op == "call_function" and node.name in tensors and isinstance(result, torch.Tensor):
                found.append(Step(tensors[node.name], as_numpy(result).copy(), place_of(node)))
            return result

    positional, named = copy.deepcopy(program.example_inputs)
    module = program.module(check_guards=False)
    flat = torch.utils._pytree.tree_leaves((positional, named))
    with silence(), torch.no_grad(), torch.random.fork_rng(devices=[]):
        Watched(module).run(*flat)
    yield from found
