"""Packed sequences whose lengths are known: the compiled network gives what PyTorch gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.checks import same

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
rnn = torch.nn.utils.rnn


class Packed(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, cell: Any, lengths: Any, **options: Any) -> None:
        super().__init__()
        self.cell, self.options = cell, options
        self.register_buffer("lengths", torch.tensor(lengths))

    def forward(self, x: Any, lengths: Any = None) -> Any:
        known = self.lengths if lengths is None else lengths
        packed = rnn.pack_padded_sequence(x, known, self.cell.batch_first, enforce_sorted=False)
        found, states = self.cell(packed)
        return rnn.pad_packed_sequence(found, self.cell.batch_first, **self.options), states


LSTM, GRU, RNN = torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN
MODULES = {
    "lstm": Packed(LSTM(4, 5, 2, batch_first=True), [3, 5, 1, 3]),
    "gru, both ways": Packed(GRU(4, 5, bidirectional=True), [3, 5, 1], padding_value=-1.0, total_length=7),
    "rnn, sorted": Packed(RNN(4, 3, nonlinearity="relu", batch_first=True), [6, 6, 2]),
}


@pytest.mark.parametrize("name", MODULES)
def test_packed_sequences(name: str) -> None:
    module = MODULES[name].eval()
    many = len(module.lengths)
    x = torch.randn(*((many, 6) if module.cell.batch_first else (6, many)), 4)
    program = tw.compile(module, (x,), target="generic")
    for given in (x, x.flip(1)):
        wanted = [leaf for leaf in torch.utils._pytree.tree_leaves(module(given)) if isinstance(leaf, torch.Tensor)]
        for array, value in zip(program.run(given).outputs.values(), wanted, strict=True):
            same(np.asarray(array), value.detach().numpy(), 1e-5)


def test_lengths_that_are_an_input_are_refused() -> None:
    module, x = MODULES["lstm"].eval(), torch.randn(4, 6, 4)
    with pytest.raises(tw.CompileError, match="test_packed"):
        tw.compile(module, (x, torch.tensor([3, 5, 1, 3])))
