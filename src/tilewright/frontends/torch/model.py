"""PyTorch in: modules, exported programs and .pt2 files, through torch.export and PyTorch's ONNX exporter."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, Refusal, unreadable
from tilewright.frontends.exported import Exported
from tilewright.frontends.frameworks import require
from tilewright.frontends.python_errors import is_ours, reason_of, user_line
from tilewright.frontends.quiet import silence
from tilewright.frontends.result_names import named_results
from tilewright.frontends.torch import followed, projections
from tilewright.frontends.torch import names as torch_names
from tilewright.frontends.torch import operations as torch_operations
from tilewright.frontends.torch import own as torch_own
from tilewright.frontends.torch import states as torch_states
from tilewright.frontends.torch.file import refuse_without_graph
from tilewright.frontends.torch.followed import Followed
from tilewright.frontends.torch.recording import Raises
from tilewright.ir.arrays import Given, read_npz
from tilewright.records import dataclass

MUST_RUN = "the module must run on the example inputs: try module(*example_inputs)"
EVAL_HINT = "call module.eval() before compiling: dropout and batch normalisation then compute what is deployed"


def exported(model: Any, example_inputs: Given | None, random_seed: int | None = None, folds: bool = True) -> Exported:
    """The ONNX model of a module, an ExportedProgram or a .pt2 file, its nodes named as the module's parts are. With a
    seed, random numbers that a module draws are constants. Unless it `folds`, parameters are as the module has them."""
    model = Path(model) if isinstance(model, str) else model
    if isinstance(model, Path):
        refuse_without_graph(model)
    require("torch", "torch", "onnxscript")
    with silence():
        found = _exported(model, example_inputs, random_seed)
        traced = found.program
        program = _converted(traced, folds)
        buffers = torch_states.changed(program.exported_program)
        made = _with_states(model, traced, buffers) if buffers else _named(program, output_names(traced))
    title = model.stem if isinstance(model, Path) else type(model).__name__
    made.proto.graph.name = title
    own = torch_own.of(model, traced, made.program, made.tensors, random_seed)
    return Exported(made.proto, title, own, (*found.notes, *torch_operations.notes(traced)))


@dataclass(frozen=True)
class _Made:
    """An ONNX model with names of the module's, and the program that it is of."""

    proto: Any
    program: Any
    tensors: Mapping[str, str]
    """Of the program's nodes, by their names: the tensors that they make."""


def _named(program: Any, outputs: list[str], inside: str = "") -> _Made:
    torch_names.told_apart(program.model)
    before = [name for node in program.model_proto.graph.node for name in node.output]
    proto = torch_names.renamed(program.model_proto, outputs, inside)
    after = [name for node in proto.graph.node for name in node.output]
    return _Made(proto, program.exported_program, dict(zip(before, after, strict=True)))


def _with_states(model: Any, exported: Any, buffers: tuple[str, ...]) -> _Made:
    """A program that changes buffers, exported again with what becomes of them."""
    import torch

    module = model if isinstance(model, torch.nn.Module) else exported.module()
    positional, named = exported.example_inputs
    values = torch_states.values_of(module, buffers)
    whole = _traced_with(torch_states.opened(module, buffers), positional, {**named, **values})
    names = [*output_names(exported), *(f"{buffer}.next" for buffer in buffers)]
    made = _named(_converted(whole.program), names, "module")
    proto = torch_states.declared(made.proto, dict(zip(buffers, *values.values(), strict=True)))
    return replace(made, proto=proto)


def _exported(model: Any, example_inputs: Given | None, random_seed: int | None) -> Followed:
    import torch

    if isinstance(model, Path):
        model = _loaded(model)
    if isinstance(model, torch.jit.ScriptModule):
        raise CompileError("model", "is a TorchScript module", "compile the module that it was made from")
    if isinstance(model, torch.export.ExportedProgram):
        return _bound(model, example_inputs)
    if not isinstance(model, torch.nn.Module):
        raise CompileError(
            "model", f"is a {type(model).__name__}, which PyTorch has no graph of", "compile a torch.nn.Module"
        )
    _refuse_training(model)
    if example_inputs is None:
        raise CompileError(
            type(model).__name__, "needs example inputs, which give its shapes", "tw.compile(module, (x,)) for example"
        )
    module = projections.written_out(model)
    if random_seed is not None:
        return _drawn_once(module, example_inputs, random_seed)
    return _as_it_runs(_traced(module, example_inputs), module)


def _drawn_once(module: Any, example_inputs: Given, seed: int) -> Followed:
    """Whatever torch.export makes of random numbers, it does not keep those of a seed."""
    where = f"{type(module).__name__}, with random_seed={seed}"
    try:
        return followed.by_running(module, *arguments(example_inputs), seed)
    except Raises as error:
        raise CompileError(where, error.what, MUST_RUN) from None
    except Refusal as refusal:
        raise refusal.at(where) from None
    except Exception as error:
        if is_ours(error):
            raise
        raise CompileError(where, f"cannot be recorded: {reason_of(error)}", MUST_RUN) from None


def _as_it_runs(found: Followed, module: Any) -> Followed:
    """Models ask whether they are being traced, and may then compute something else: such ones are run instead."""
    program = found.program
    if torch_states.changed(program):
        return found
    try:
        if followed.agree(module, program.module(), *program.example_inputs) is not False:
            return found
        return followed.by_running(module, *program.example_inputs)
    except Exception as error:
        if is_ours(error) and not isinstance(error, Refusal):
            raise
        return found  # it is held to the module's results later, and refused


def _loaded(path: Path) -> Any:
    import torch

    try:
        with path.open("rb") as file:  # by its name it would have to end in .pt2
            return torch.export.load(file)
    except OSError as error:
        raise unreadable(path, error) from None
    except Exception as error:
        raise CompileError(
            str(path), f"is not a program of torch.export: {reason_of(error)}", "save it again with this PyTorch"
        ) from None


def _bound(program: Any, example_inputs: Given | None) -> Followed:
    """A program with fixed shapes: those of the example inputs, which may be the program's own."""
    if not program.range_constraints:
        return Followed(program)
    if example_inputs is not None:
        return _traced(program.module(), example_inputs)
    if program.example_inputs is None:
        raise CompileError("exported program", "has dynamic shapes and no example inputs", "give example inputs")
    positional, named = program.example_inputs
    return _traced_with(program.module(), positional, named)


def _refuse_training(module: Any) -> None:
    import torch

    if isinstance(module, torch.fx.GraphModule):  # what a graph computes was decided when it was captured
        return
    name = next((name for name, part in module.named_modules() if part.training), None)
    if name is not None:
        part = f"its part '{name}'" if name else "it"
        raise CompileError(type(module).__name__, f"{part} is in training mode", EVAL_HINT)


def _traced(module: Any, example_inputs: Given) -> Followed:
    positional, named = arguments(example_inputs)
    return _traced_with(module, positional, named)


def _traced_with(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> Followed:
    import torch

    try:
        with torch.no_grad():  # some views of parameters that may learn cannot be exported
            return Followed(torch.export.export(module, positional, dict(named)))
    except Exception as error:
        if is_ours(error):
            raise
        found = _recorded(module, positional, named)
        if found is not None:
            return found
        line = user_line(error, torch)
        where = f"{type(module).__name__}{f', {line}' if line else ''}"
        hint = _hint(error, module, positional, named)
        raise CompileError(where, f"cannot be exported: {reason_of(error)}", hint) from None


def _recorded(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> Followed | None:
    """None where the module cannot be recorded and there is nothing to try: what torch.export says is what the user can
    look up."""
    try:
        return followed.by_running(module, positional, named)
    except Refusal as refusal:
        if refusal.hint:
            raise refusal.at(type(module).__name__) from None
    except Exception as error:
        if is_ours(error):
            raise
    return None


def _hint(error: Exception, module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    if "data-dependent" in str(error):
        return "control flow may not depend on data: use torch.where, or make the size a constant"
    if _runs(module, positional, named):
        return (
            "the module runs, but torch.export cannot follow it there: sizes may not depend on values (those of packed "
            "sequences may not depend on inputs: pad and mask instead)"
        )
    return MUST_RUN


def _runs(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Whether a copy of the module takes the inputs."""
    import torch

    try:
        with torch.no_grad():
            own = copy.deepcopy((positional, dict(named)))
            torch_own.copied(module)(*own[0], **own[1])
    except Exception:
        return False
    return True


def arguments(example_inputs: Given) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Arguments of a call, in order and by name, as tensors."""
    import torch

    given: Any = read_npz(Path(example_inputs)) if isinstance(example_inputs, str | Path) else example_inputs
    tensors = torch.utils._pytree.tree_map(
        lambda leaf: torch.as_tensor(leaf) if hasattr(leaf, "shape") else leaf, given
    )
    if isinstance(tensors, Mapping):
        return (), tensors
    return (tuple(tensors) if isinstance(tensors, list | tuple) else (tensors,)), {}


def _converted(exported: Any, folds: bool = True) -> Any:
    try:
        return _as_captured(exported, folds)
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if is_ours(cause):
            raise
        raise CompileError(
            torch_names.blamed(exported, str(error.__cause__ or error)) or "exported program",
            f"PyTorch's ONNX exporter: {reason_of(cause)}",
            "replace the operation by others",
        ) from None


def _as_captured(exported: Any, folds: bool) -> Any:
    """Attention lies otherwise in memory where gradients are kept, so that views of it must be converted in the mode in
    which they were captured: without gradients here, in either where a program is given. What the exporter lacks may be
    made of operations that we have."""
    import torch

    def convert(all_parts: bool) -> Any:
        program = torch_operations.written_out(exported, all_parts)
        return torch.onnx.export(program, dynamo=True, verbose=False, optimize=folds)

    for all_parts in (False, True):
        with suppress(Exception), torch.no_grad():
            return convert(all_parts)
    with torch.enable_grad():
        return convert(False)


def output_names(exported: Any) -> list[str]:
    """Names of the results: the keys of a dictionary, the places in a tuple."""
    import torch

    spec = exported.call_spec.out_spec
    numbered = torch.utils._pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names = {number: name for name, number in named_results(numbered)}
    return [names[number] for number in range(spec.num_leaves) if number in names]
