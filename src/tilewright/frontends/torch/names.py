"""What PyTorch's exporter knows about nodes: the module that they are part of, and the line."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from onnx import ModelProto, NodeProto

from tilewright.frontends.onnx import renaming
from tilewright.frontends.python_errors import described

SCOPES = "pkg.torch.onnx.name_scopes"


def renamed(proto: ModelProto, outputs: Sequence[str], inside: str = "") -> ModelProto:
    """The model with each node called after the module that it is part of, and its results after itself.

    `inside` is the part that is the user's module, where that is not the whole.
    """
    scopes = [_scope(node).removeprefix(inside).removeprefix("." if inside else "") for node in proto.graph.node]
    return renaming.renamed(proto, scopes, outputs)


def told_apart(model: Any) -> None:
    """The exporter may call a result as a parameter is called: `div` of a module with a parameter `div`."""
    known, count = set(model.graph.initializers), 0
    for node in model.graph:
        for value in node.outputs:
            if value.name in known:
                count += 1
                value.name = f"{value.name}_result_{count}"


def _scope(node: NodeProto) -> str:
    """The path of the module that made a node: 'encoder.layer.3.attention'; empty for the outermost."""
    found = next((entry.value for entry in node.metadata_props if entry.key == SCOPES), "")
    try:
        scopes = ast.literal_eval(found) if found else []
    except (SyntaxError, ValueError):
        return ""
    return scopes[-2] if len(scopes) > 1 else ""


def blamed(exported: Any, text: str) -> str:
    """The module and the line of the node that an error names as '%node', if it does."""
    found = re.search(r"%(\w+)", text)
    node = next((node for node in exported.graph.nodes if found and node.name.startswith(found[1])), None)
    return "" if node is None else place_of(node)


def place_of(node: Any) -> str:
    """The module that a node of a program is part of, the user's line, and what it computes."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "site-packages" not in frame[0]]
    scope = next(reversed([path for path, _ in node.meta.get("nn_module_stack", {}).values()] or [""]))
    line = described(own[-1][0], int(own[-1][1]), own[-1][2]) if own else ""
    return ", ".join(filter(None, (scope.removeprefix("L['self']."), line, f"{node.target}")))
