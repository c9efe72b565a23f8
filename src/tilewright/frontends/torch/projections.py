"""LSTMs with projections, which PyTorch's ONNX exporter drops, as LSTMs without and products with a matrix.

What goes back into such an LSTM is its state times a matrix. That matrix times the recurrent weights are the recurrent
weights of an LSTM without projections, whose states are the same; what the user gives as a first state has no such
product, and comes with the inputs of the first step.
"""

from __future__ import annotations

from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.torch.own import copied


def written_out(module: Any) -> Any:
    """A module whose LSTMs have no projections; itself where none has."""
    import torch

    def has_projections(part: Any) -> bool:
        return isinstance(part, torch.nn.LSTM) and part.proj_size > 0

    if has_projections(module):
        return _projected(module)
    if not any(map(has_projections, module.modules())):
        return module
    own = copied(module, *module.buffers())
    for path, part in list(own.named_modules()):
        if has_projections(part):
            own.set_submodule(path, _projected(part))
    return own


def _projected(lstm: Any) -> Any:
    import torch

    class Projected(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ways = torch.nn.ModuleList(
                _one_way(lstm, layer, suffix)
                for layer in range(lstm.num_layers)
                for suffix in ("", "_reverse")[: 1 + lstm.bidirectional]
            )

        def forward(self, x: Any, hx: Any = None) -> Any:
            if not isinstance(x, torch.Tensor):
                raise CompileError("LSTM with projections", f"is given a {type(x).__name__}", "pad and mask instead")
            is_batch = x.dim() == 3
            x = x if is_batch else x.unsqueeze(1)
            x = x.transpose(0, 1) if is_batch and lstm.batch_first else x
            first = _zeros(lstm, x) if hx is None else (tuple(hx) if is_batch else tuple(h.unsqueeze(1) for h in hx))
            last: list[tuple[Any, Any]] = []
            directions = 1 + lstm.bidirectional
            for at in range(0, len(self.ways), directions):
                found = [self.ways[at + i](x, first[0][at + i], first[1][at + i]) for i in range(directions)]
                x = torch.cat([y for y, _, _ in found], -1)
                last += [(h, c) for _, h, c in found]
            states = tuple(torch.stack(list(kind)) for kind in zip(*last, strict=True))
            if not is_batch:
                return x.squeeze(1), tuple(state.squeeze(1) for state in states)
            return (x.transpose(0, 1) if lstm.batch_first else x), states

    return Projected().eval()


def _zeros(lstm: Any, x: Any) -> tuple[Any, Any]:
    """The states that an LSTM begins with where none are given."""
    rows = lstm.num_layers * (1 + lstm.bidirectional), x.shape[1]
    return x.new_zeros(*rows, lstm.proj_size), x.new_zeros(*rows, lstm.hidden_size)


def _one_way(lstm: Any, layer: int, suffix: str) -> Any:
    """One direction of one layer: steps, batch and elements in; the same out, and the last states."""
    import torch

    def weight(name: str) -> Any:
        return getattr(lstm, f"{name}_l{layer}{suffix}").detach()

    inputs, back, projection = weight("weight_ih"), weight("weight_hh"), weight("weight_hr")

    class OneWay(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            size = inputs.shape[1] + back.shape[1]
            self.cells = torch.nn.LSTM(size, lstm.hidden_size, bias=lstm.bias, dtype=inputs.dtype)
            self.project = torch.nn.Linear(lstm.hidden_size, lstm.proj_size, bias=False, dtype=inputs.dtype)
            with torch.no_grad():
                self.cells.weight_ih_l0.copy_(torch.cat([inputs, back], 1))
                self.cells.weight_hh_l0.copy_(back @ projection)
                self.project.weight.copy_(projection)
                for name in ("bias_ih", "bias_hh")[: 2 * lstm.bias]:
                    getattr(self.cells, f"{name}_l0").copy_(weight(name))

        def forward(self, x: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
            x = x.flip(0) if suffix else x
            later = x.new_zeros(x.shape[0] - 1, *h.shape)
            given = torch.cat([x, torch.cat([h.unsqueeze(0), later])], -1)
            y, (_, last) = self.cells(given, (torch.zeros_like(c).unsqueeze(0), c.unsqueeze(0)))
            y = self.project(y)
            return (y.flip(0) if suffix else y), y[-1], last.squeeze(0)

    return OneWay().eval()
