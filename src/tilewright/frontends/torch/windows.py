"""Windows of signals that ONNX defines by other numbers than PyTorch."""

from __future__ import annotations

import math
from typing import Any

GIVEN = (0, True, 0.54, 0.46)
"""What a Hamming window has where its call does not say: length, whether it is periodic, and two factors. ONNX's has
25/46 in the place of the first factor."""


def is_other(node: Any) -> bool:
    import torch

    return getattr(node.target, "overloadpacket", None) is torch.ops.aten.hamming_window


def written_out(program: Any) -> Any:
    """The windows as cosines. The program is nobody else's."""
    graph = program.graph_module.graph
    for node in filter(is_other, list(graph.nodes)):
        with graph.inserting_before(node):
            node.replace_all_uses_with(_cosines(graph, node))
        graph.erase_node(node)
    program.graph_module.recompile()
    return program


def _cosines(graph: Any, node: Any) -> Any:
    import torch

    given = list(node.args)
    length, is_periodic, alpha, beta = given + list(GIVEN[len(given) :])
    parts = max(length if is_periodic else length - 1, 1)
    if length == 1:
        alpha, beta = 1.0, 0.0
    aten = torch.ops.aten
    found = graph.call_function(aten.arange.default, (length,), {**node.kwargs, "dtype": node.meta["val"].dtype})
    found.meta = dict(node.meta)
    steps = (
        (aten.mul.Tensor, 2 * math.pi / parts), (aten.cos.default, None), (aten.mul.Tensor, -beta),
        (aten.add.Tensor, alpha),
    )  # fmt: skip
    for operation, number in steps:
        found = graph.call_function(operation, (found,) if number is None else (found, number))
        found.meta = dict(node.meta)
    return found
