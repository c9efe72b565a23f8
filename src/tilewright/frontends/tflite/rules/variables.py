"""Variables, which live from call to call. CALL_ONCE, which needs other subgraphs, is the importer's."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node


def var_handle(node: Node) -> Sequence[str]:
    node.result()
    names = (node.option("Container", b""), node.option("SharedName", b""))
    container, name = ((given or b"").decode("utf-8", "replace") for given in names)
    if not name:
        raise Refusal("has no name, by which a variable is known", "convert the model again")
    node.scope.variables.handles[node.operator.outputs[0]] = (container, name)
    return []


def read_variable(node: Node) -> Sequence[str]:
    return [node.scope.variables.read(_handle(node))]


def assign_variable(node: Node) -> Sequence[str]:
    node.scope.variables.assign(_handle(node), node.input(1))
    return []


def _handle(node: Node) -> int:
    if not node.has(0):
        raise Refusal("input 0 is missing")
    return node.operator.inputs[0]


RULES = {"VAR_HANDLE": var_handle, "READ_VARIABLE": read_variable, "ASSIGN_VARIABLE": assign_variable}
