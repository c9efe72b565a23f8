"""The element types of a graph's inputs: as declared, as the user says, or as the graph's operators prove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from tilewright.errors import CompileError
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx.integers import Arc, as_integers, integer_tensors
from tilewright.ir.arrays import match
from tilewright.ir.types import BYTES, COMPUTED, Array

DEFAULT_INTEGER = "int8"
"""The type of a graph input that is an integer of unknown width."""


def integers_of(
    graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], constants: Mapping[str, Array], options: ModelOptions
) -> frozenset[str]:
    """Tensors that are integers, whatever they are declared as."""
    arcs = [Arc(n.op_type, onnx_file.name_of(n), tuple(n.input), tuple(n.output)) for n in nodes]
    declared = onnx_file.declared_dtypes(graph) | {name: array.dtype.name for name, array in constants.items()}
    names = {name for arc in arcs for name in (*arc.inputs, *arc.outputs) if name}
    names |= {value.name for value in graph.input}
    made = {name for node in nodes if node.op_type != "Constant" for name in node.output if name}
    candidates = made | {name for name in names if declared.get(name, "float32") == "float32"}
    _check_dtypes(graph, options.dtypes)
    _check_dims(graph, options.dims)
    given = {name for name, dtype in options.dtypes.items() if dtype != "float32"}
    return integer_tensors(arcs, constants, candidates, given & candidates)


def _check_dtypes(graph: onnx.GraphProto, dtypes: Mapping[str, str]) -> None:
    inputs = {value.name for value in onnx_file.true_inputs(graph)}
    for name, dtype in dtypes.items():
        if name not in inputs:
            known = ", ".join(f"'{value}'" for value in sorted(inputs))
            raise CompileError(f"--dtype {name}={dtype}", f"the model has no input '{name}'", f"inputs: {known}")
        if dtype not in COMPUTED:
            known = ", ".join(kind for kind in BYTES if kind in COMPUTED)
            raise CompileError(f"--dtype {name}={dtype}", f"unknown element type '{dtype}'", known)


def _check_dims(graph: onnx.GraphProto, dims: Mapping[str, int]) -> None:
    known = onnx_file.symbols(graph)
    for name, size in dims.items():
        if name not in known:
            hint = f"symbols: {', '.join(known)}" if known else "all its sizes are fixed: drop the option"
            raise CompileError(f"--dim {name}={size}", f"the model has no dimension '{name}'", hint)


class InputTypes:
    """What decides the element type of each input."""

    def __init__(self, graph: onnx.GraphProto, options: ModelOptions, integers: frozenset[str]) -> None:
        self.options, self.integers = options, integers
        self.samples: Mapping[str, Array] = {}
        if options.example_inputs:
            inputs = [value.name for value in onnx_file.true_inputs(graph)]
            names = [name for name in inputs if name not in options.states]
            self.samples = match(names, options.example_inputs, "inputs")

    def dtype_of(self, value: onnx.ValueInfoProto, notes: list[str]) -> str:
        """Of an input; what is not as it is declared is noted."""
        declared = onnx_file.dtype_of(value.type.tensor_type.elem_type, f"input '{value.name}'")
        if value.name in self.options.dtypes:
            return self._chosen_dtype(value.name, declared)
        if value.name not in self.integers:
            return declared
        dtype = self._sampled_dtype(value.name)
        notes.append(
            f"input '{value.name}' is declared FLOAT, but the graph's operators prove it to be an integer: taken as "
            f"{dtype} (--dtype {value.name}=TYPE to change)"
        )
        return dtype

    def _chosen_dtype(self, name: str, declared: str) -> str:
        wanted = self.options.dtypes[name]
        if declared not in ("float32", wanted):
            raise CompileError(f"--dtype {name}={wanted}", f"input '{name}' is declared {declared}", "drop the option")
        return wanted

    def _sampled_dtype(self, name: str) -> str:
        """int8, unless example values need another width."""
        sample = self.samples.get(name)
        return DEFAULT_INTEGER if sample is None or not sample.size else as_integers(np.asarray(sample)).dtype.name
