"""torch.cond, while_loop, scan and map: control flow that data decides, as PyTorch writes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.ops._control_flow import Branch, Loop, flows

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402
from torch._higher_order_ops import scan, while_loop  # noqa: E402
from torch._higher_order_ops.map import map as map_over  # noqa: E402


class Deciding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, n: Any, x: Any) -> Any:
        return torch.cond(x.sum() > n, lambda x: self.one(x), lambda x: self.other(x) * 2, (x,))


class Repeating(Deciding):
    def forward(self, n: Any, x: Any) -> Any:
        start = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, y: i < n, lambda i, y: (i + 1, torch.tanh(self.one(y))), (start, x))


class Stepping(Deciding):
    def forward(self, n: Any, x: Any) -> Any:
        def step(state: Any, element: Any) -> Any:
            state = torch.tanh(self.one(state) + element)
            return state, state * n

        return scan(step, torch.zeros(4), x)


class Mapping(Deciding):
    def forward(self, n: Any, x: Any) -> Any:
        return map_over(lambda row, n: (torch.tanh(self.one(row)), row.sum() * n), x, n)


KINDS = [(Deciding, Branch), (Repeating, Loop), (Stepping, None), (Mapping, None)]


@pytest.mark.parametrize(("kind", "becomes"), KINDS)
def test_control_flow_by_data(kind: type[nn.Module], becomes: type | None) -> None:
    torch.manual_seed(0)
    module, x = kind().eval(), torch.ones(3, 4)
    program = tw.compile(module, (torch.tensor(2), x), target="generic")
    assert becomes is None or [type(flow) for flow in flows(program.graph)] == [becomes]
    for given in ((torch.tensor(3), x), (torch.tensor(0), -x)):
        with torch.no_grad():
            wanted = torch.utils._pytree.tree_leaves(module(*given))
        for found, one in zip(program.run(given).outputs.values(), wanted, strict=True):
            np.testing.assert_allclose(found, one.numpy(), atol=1e-6)
