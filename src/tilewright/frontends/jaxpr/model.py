"""JAX in: functions, modules of flax and equinox, as one jaxpr with the weights as its constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper

from tilewright.errors import CompileError
from tilewright.frontends.exported import Exported, Own, Step
from tilewright.frontends.frameworks import require
from tilewright.frontends.onnx import states
from tilewright.frontends.python_errors import is_ours, reason_of, user_line
from tilewright.frontends.result_names import result_name, walk
from tilewright.ir.arrays import Given, read_npz
from tilewright.ir.types import Array
from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.frontends.jaxpr.reader import Made


@dataclass(frozen=True)
class Traceable:
    """A function of weights and inputs."""

    function: Callable[..., Any]
    """(weights, *inputs) -> results"""
    weights: list[Any]
    names: list[str]
    """Of the weights, as the module calls them."""
    title: str
    signature: Callable[..., Any]
    """What names the inputs."""
    keeps: frozenset[str] | None = None
    """Of a module whose calls may change weights: those whose changes last. Its function gives (results, weights)."""


def exported(model: Any, example_inputs: Given | None) -> Exported:
    """The ONNX model of a function or a module."""
    require("jax", "jax")
    if example_inputs is None:
        raise CompileError(
            _title(model), "needs example inputs, which give its shapes", "tw.compile(f, (x,)) for example"
        )
    import jax

    from tilewright.frontends.jaxpr.emitter import Emitter
    from tilewright.frontends.jaxpr.reader import read

    traceable, arguments = _traceable(model), _arguments(example_inputs)
    jaxpr, shapes = _traced(traceable, arguments)
    em, changed = Emitter(), _changed(traceable, jaxpr.jaxpr)
    weights = [np.asarray(value) for value in traceable.weights]
    for i, (name, value) in enumerate(zip(traceable.names, weights, strict=True)):
        if i not in changed:
            em.call(value, name)
    inputs = _inputs(em, traceable, arguments)
    paths, _ = jax.tree_util.tree_flatten_with_path(shapes if traceable.keeps is None else shapes[0])
    names = [em.free(result_name([_key(entry) for entry in path])) for path, _ in paths]
    before = {i: em.input(traceable.names[i], weights[i].shape, weights[i].dtype) for i in changed}
    found, steps = read(em, jaxpr, [*(before.get(i, weight) for i, weight in enumerate(weights)), *inputs])
    made = [em.full(result, tuple(var.aval.shape)) for result, var in zip(found, jaxpr.jaxpr.outvars, strict=True)]
    for name, result in zip(names, made, strict=False):
        em.output(result, name)
    after = {i: em.free(f"{traceable.names[i]}.next") for i in changed}
    for i in changed:
        em.output(made[len(names) + i], after[i])
    proto = _with_states(em.model(traceable.title), {before[i].name: (weights[i], after[i]) for i in changed})
    given = [*weights, *jax.tree_util.tree_leaves(arguments)]
    called = {tensor.name: value for tensor, value in zip(inputs, given[len(weights) :], strict=True)}
    return Exported(proto, traceable.title, lambda: _own(jaxpr, given, called, len(names), steps))


def _own(closed: Any, given: Sequence[Any], called: Mapping[str, Any], results: int, steps: Sequence[Made]) -> Own:
    """What JAX computes: the results, and what each equation makes of the operands that it has there."""
    import jax

    arrays = {name: np.asarray(value) for name, value in called.items()}

    def computed(wanted: Sequence[Any]) -> list[Array]:
        whole = closed.jaxpr.replace(outvars=list(wanted), debug_info=closed.jaxpr.debug_info.with_unknown_names())
        return [np.asarray(value) for value in jax.core.eval_jaxpr(whole, closed.consts, *given)]

    def on_the_way() -> Iterator[Step]:
        values = computed([step.var for step in steps])
        return (Step(made.tensor.name, value, made.place) for made, value in zip(steps, values, strict=True))

    return Own(arrays, computed(closed.jaxpr.outvars[:results]), on_the_way)


def _with_states(proto: Any, found: Mapping[str, tuple[Any, str]]) -> Any:
    """The model with its states noted: of each input its first value, and the output that is the next one."""
    for name, (first, _) in found.items():
        proto.graph.initializer.append(numpy_helper.from_array(first, name))
    states.declare(proto, {name: after for name, (_, after) in found.items()})
    return proto


def _changed(model: Traceable, jaxpr: Any) -> list[int]:
    """The weights that a call leaves with other values; those that only random numbers come from are passed over."""
    if model.keeps is None:
        return []
    count = len(model.weights)
    pairs = enumerate(zip(jaxpr.invars[:count], jaxpr.outvars[len(jaxpr.outvars) - count :], strict=True))
    return [i for i, (before, after) in pairs if after is not before and model.names[i] in model.keeps]


def _title(model: Any) -> str:
    name = getattr(model, "__name__", type(model).__name__)
    return name if name.isidentifier() else "function"


def _arguments(example_inputs: Given) -> Any:
    given: Any = read_npz(Path(example_inputs)) if isinstance(example_inputs, str | Path) else example_inputs
    if isinstance(given, Mapping):
        return dict(given)
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _traced(model: Traceable, arguments: Any) -> tuple[Any, Any]:
    """The jaxpr of a call, and the shapes of its results."""
    import jax

    positional, named = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
    try:
        return jax.make_jaxpr(model.function, return_shape=True)(model.weights, *positional, **named)
    except Exception as error:
        if is_ours(error):
            raise
        line = user_line(error, jax)
        where = f"{model.title}{f', {line}' if line else ''}"
        raise CompileError(where, f"cannot be traced: {reason_of(error)}", _hint(error)) from None


def _hint(error: Exception) -> str:
    if type(error).__name__ in ("ConcretizationTypeError", "TracerBoolConversionError", "TracerIntegerConversionError"):
        return "the way through the function may not depend on values: use jnp.where or lax.cond"
    return "the function must run on the example inputs under jax.jit"


# ---- inputs -----------------------------------------------------------------------------------------------------


def _inputs(em: Any, model: Traceable, arguments: Any) -> list[Any]:
    """Inputs of the model in the order they were given; returned as JAX flattens them, which sorts dictionaries."""
    names = list(arguments) if isinstance(arguments, dict) else _parameters(model.signature, len(arguments))
    values = arguments.values() if isinstance(arguments, dict) else arguments
    made = {name: dict(_inputs_of(em, name, value)) for name, value in zip(names, values, strict=True)}
    keyed = arguments if isinstance(arguments, dict) else dict(enumerate(arguments))
    order = dict(zip(keyed, names, strict=True))
    return [made[order[path[0]]][path[1:]] for path in _jax_paths(keyed)]


def _inputs_of(em: Any, name: str, value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The inputs that an argument holds: its own name, and the place inside where there are several."""
    import jax

    for path, leaf in walk(value):
        array = np.asarray(leaf)
        dtype = jax.dtypes.canonicalize_dtype(array.dtype)
        yield path, em.input("_".join((name, *path)), array.shape, dtype)


def _jax_paths(arguments: Mapping[Any, Any]) -> list[tuple[Any, ...]]:
    """Where the arrays are, in JAX's order: the argument, then words."""
    import jax

    flat, _ = jax.tree_util.tree_flatten_with_path(arguments)
    return [(path[0].key, *map(_key, path[1:])) for path, _ in flat]


def _key(entry: Any) -> str:
    return str(next((getattr(entry, word) for word in ("key", "idx", "name") if hasattr(entry, word)), entry))


def _parameters(function: Callable[..., Any], count: int) -> list[str]:
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        kinds = ()  # type: ignore[assignment]
    plain = [kind.name for kind in kinds if kind.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)]
    return [plain[i] if i < len(plain) else f"input_{i}" for i in range(count)]


# ---- modules ----------------------------------------------------------------------------------------------------


def _traceable(model: Any) -> Traceable:
    packages = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    modules = [base.__module__ for base in type(model).__mro__]
    if any(name.startswith("flax.nnx") for name in modules):
        return _nnx(model)
    if any(name.startswith("flax.linen") for name in modules):
        return _linen(model)
    if "equinox" in packages:
        return _equinox(model)
    return Traceable(lambda _, *inputs, **named: model(*inputs, **named), [], [], _title(model), model)


def _nnx(model: Any) -> Traceable:
    import jax
    from flax import nnx

    for path, part in nnx.iter_modules(model):
        _refuse_training(model, ".".join(map(str, path)), part, "deterministic", "use_running_average")
    graph, state = nnx.split(model)
    paths, tree = jax.tree_util.tree_flatten_with_path(state)
    names = [".".join(key for key in map(_key, path) if key != "value") for path, _ in paths]

    def call(weights: list[Any], *inputs: Any, **named: Any) -> Any:
        module = nnx.merge(graph, jax.tree_util.tree_unflatten(tree, weights))
        results = module(*inputs, **named)
        after = dict(jax.tree_util.tree_flatten_with_path(nnx.state(module))[0])
        return results, [after.get(path, weight) for (path, _), weight in zip(paths, weights, strict=True)]

    random = jax.tree_util.tree_flatten_with_path(nnx.state(model, nnx.RngState))[0]
    lasting = {path for path, _ in paths} - {path for path, _ in random}
    keeps = frozenset(name for name, (path, _) in zip(names, paths, strict=True) if path in lasting)
    return _split(call, [leaf for _, leaf in paths], names, model, keeps)


def _split(
    call: Callable[..., Any], values: list[Any], names: list[str], model: Any, keeps: frozenset[str] | None = None
) -> Traceable:
    """Numbers are weights; all else (keys of random numbers) stays inside the function."""
    import jax

    are_numbers = [
        hasattr(value, "dtype") and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended) for value in values
    ]

    def function(weights: list[Any], *inputs: Any, **named: Any) -> Any:
        given = iter(weights)
        whole = [next(given) if one else v for v, one in zip(values, are_numbers, strict=True)]
        results = call(whole, *inputs, **named)
        if keeps is None:
            return results
        return results[0], [value for value, one in zip(results[1], are_numbers, strict=True) if one]

    numbers = [value for value, one in zip(values, are_numbers, strict=True) if one]
    called = [name for name, one in zip(names, are_numbers, strict=True) if one]
    return Traceable(function, numbers, called, type(model).__name__, type(model).__call__.__get__(model), keeps)


def _linen(model: Any) -> Traceable:
    if model.scope is None:
        raise CompileError(
            type(model).__name__, "is a linen module without its variables",
            "compile model.bind(variables), or lambda x: model.apply(variables, x)",
        )  # fmt: skip
    return Traceable(lambda _, *inputs, **named: model(*inputs, **named), [], [], type(model).__name__, model)


def _equinox(model: Any) -> Traceable:
    import jax

    parts, _ = jax.tree_util.tree_flatten_with_path(model, is_leaf=lambda part: hasattr(part, "inference"))
    for path, part in parts:
        if getattr(part, "inference", True) is False:
            raise CompileError(
                type(model).__name__, f"its part '{'.'.join(map(_key, path))}' is in training mode",
                "compile equinox.nn.inference_mode(model)",
            )  # fmt: skip
    paths, tree = jax.tree_util.tree_flatten_with_path(model)

    def call(weights: list[Any], *inputs: Any, **named: Any) -> Any:
        return jax.tree_util.tree_unflatten(tree, weights)(*inputs, **named)

    return _split(call, [leaf for _, leaf in paths], [".".join(map(_key, path)) for path, _ in paths], model)


def _refuse_training(model: Any, path: str, part: Any, *flags: str) -> None:
    if any(getattr(part, flag, None) is False for flag in flags):
        raise CompileError(
            type(model).__name__, f"its part '{path}' is in training mode",
            "call model.eval() before compiling: dropout and batch normalisation then compute what is deployed",
        )  # fmt: skip
