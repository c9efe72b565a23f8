"""PyTorch: modules, exported programs and files, their names, and what is refused."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402

from tilewright.frontends.torch import projections  # noqa: E402


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(16, 4, batch_first=True), nn.LayerNorm(16)
        self.ff = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.1))

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        return self.ff(x + self.attention(y, y, y, need_weights=False)[0])


class Two(nn.Module):
    def forward(self, left: Any, right: tuple[Any, Any]) -> dict[str, Any]:
        return {"sum": left + right[0], "parts": (left * right[1], left - 1)}


class Halving(nn.Module):
    def forward(self, x: Any) -> Any:
        while x.sum() > 0.001:
            x = x / 2
        return x


@pytest.fixture(scope="module")
def x() -> Any:
    return torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def module() -> Any:
    torch.manual_seed(0)
    return Block().eval()


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted.detach().numpy(), atol=1e-5)


def test_a_module_in_two_lines(module: Any, x: Any) -> None:
    program = tw.compile(module, (x,), target="generic")
    close(program.run(x)[0], module(x))
    operators = {layer.name: layer.operator for layer in program.analysis.layers}
    assert {"norm", "ff.0/MatMul", "attention/Gemm"} <= set(operators)
    assert all(name.startswith("attention/") for name in operators if operators[name] == "FusedAttention")
    assert program.graph.name == "Block"


def test_one_tensor_alone_and_arrays_are_example_inputs_too(module: Any, x: Any) -> None:
    for given in (x, [x], x.numpy(), {"x": x}):
        assert tw.compile(module, given).graph.types["x"].shape == (1, 5, 16)


def test_arguments_may_be_nested_and_results_are_named() -> None:
    left, right = torch.ones(3), (torch.full((3,), 2.0), torch.full((3,), 3.0))
    program = tw.compile(Two().eval(), (left, right))
    assert list(program.graph.inputs) == ["left", "right_0", "right_1"]
    result = program.run(left, right)
    assert list(result.outputs) == ["sum", "parts_0", "parts_1"]
    np.testing.assert_array_equal(result["parts_0"], [3, 3, 3])
    np.testing.assert_array_equal(program.run({"left": left, "right": right})[0], [3, 3, 3])


def test_results_in_dictionaries_keep_their_names() -> None:
    class Reversed(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"b": x + 1, "a": x * 5}

    result = tw.compile(Reversed().eval(), (torch.ones(2),)).run(torch.ones(2))
    np.testing.assert_array_equal(result["b"], [2, 2])
    np.testing.assert_array_equal(result.outputs["a"], [5, 5])


def test_a_file_of_torch_export(module: Any, x: Any, tmp_path: Path) -> None:
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "block.pt2")
    program = tw.compile(tmp_path / "block.pt2")
    close(program.run(x)[0], module(x))
    assert program.graph.name == "block"


def test_dynamic_shapes_are_bound_by_example_inputs(module: Any) -> None:
    batch = {"x": {0: torch.export.Dim("batch")}}
    exported = torch.export.export(module, (torch.randn(2, 5, 16),), dynamic_shapes=batch)
    assert tw.compile(exported).graph.types["x"].shape == (2, 5, 16)
    assert tw.compile(exported, (torch.randn(3, 5, 16),)).graph.types["x"].shape == (3, 5, 16)


def test_the_exporter_says_nothing(module: Any, x: Any) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        tw.compile(module, (x,))
    assert printed.getvalue() == ""


def test_training_mode_is_refused(x: Any) -> None:
    with pytest.raises(tw.CompileError, match="Block: it is in training mode") as error:
        tw.compile(Block(), (x,))
    assert "module.eval()" in error.value.hint
    half = Block().eval()
    half.ff.train()
    with pytest.raises(tw.CompileError, match="its part 'ff' is in training mode"):
        tw.compile(half, (x,))


def test_ways_that_depend_on_values_are_refused_with_the_line(x: Any) -> None:
    with pytest.raises(tw.CompileError, match="data-dependent") as error:
        tw.compile(Halving().eval(), (x,))
    assert "test_model.py" in error.value.where
    assert "`while x.sum() > 0.001:`" in error.value.where
    assert "torch.where" in error.value.hint
    assert "\n" not in error.value.what


def test_a_module_that_does_not_run_is_refused_with_the_line(module: Any) -> None:
    with pytest.raises(tw.CompileError, match="cannot be exported") as error:
        tw.compile(module, (torch.randn(1, 5, 7),))
    assert "`y = self.norm(x)`" in error.value.where


def test_operations_that_the_exporter_lacks_are_named() -> None:
    class Eigenvalues(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.eigvals(x).real

    with pytest.raises(tw.CompileError, match="linalg_eig") as error:
        tw.compile(Eigenvalues().eval(), (torch.ones(3, 3),))
    assert "`return torch.linalg.eigvals(x).real`" in error.value.where


class Rare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x: Any, edges: Any) -> list[Any]:
        y = self.memory(x)[0]
        median, place = y.median(1)
        maxima, places = nn.functional.adaptive_max_pool2d(y[None], (3, 4), return_indices=True)
        distances = [torch.cdist(y, y[:, :2], p) for p in (1.0, 2.0, 3.0, torch.inf)]
        between = [torch.searchsorted(edges, y), torch.searchsorted(edges, y, right=True, out_int32=True)]
        return [median, place, maxima, places, *distances, *between, y.prod(1), y.prod(), y.cumprod(1)]


def test_operations_that_the_exporter_lacks_are_written_with_others() -> None:
    torch.manual_seed(0)
    module, inputs = Rare().eval(), (torch.randn(1, 5, 4), torch.linspace(-1, 1, 7))
    program = tw.compile(module, inputs)
    for found, wanted in zip(program.run(*inputs).outputs.values(), module(*inputs), strict=True):
        close(found, wanted)
    assert "memory" in program.analysis.layers[0].name


class RareOfOtherKinds(nn.Module):
    def forward(self, x: Any, counts: Any) -> list[Any]:
        products = [
            counts.prod(1),
            counts.prod(),
            counts.cumprod(1),
            (x > 0).prod(1),
            counts.prod(1, dtype=torch.int32),
        ]
        places = torch.searchsorted(x[0].sort()[0], x.sum())
        rows = nn.functional.adaptive_max_pool1d(x, 2, return_indices=True)
        return [*products, places, *rows, x.median(), torch.cdist(x, x, 0.0)]


def test_rare_operations_keep_the_types_and_shapes_of_pytorch() -> None:
    torch.manual_seed(0)
    module, inputs = RareOfOtherKinds().eval(), (torch.randn(3, 5), torch.randint(40, 99, (3, 7), dtype=torch.int32))
    outputs = tw.compile(module, inputs).run(*inputs).outputs.values()
    for found, wanted in zip(outputs, module(*inputs), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.numpy().dtype)
        close(found, wanted)


def test_sizes_that_values_decide_are_refused_with_what_to_do() -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory = nn.GRU(3, 4, batch_first=True)

        def forward(self, x: Any, lengths: Any) -> Any:
            return self.memory(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True))[1]

    with pytest.raises(tw.CompileError, match="cannot be exported") as error:
        tw.compile(Packed().eval(), (torch.randn(2, 5, 3), torch.tensor([5, 2])))
    assert "the module runs" in error.value.hint


def test_a_program_of_torch_export_may_be_called_otherwise(tmp_path: Path) -> None:
    x = torch.randn(2, 3)
    block = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(block, (x,)), tmp_path / "block.pt2")
    (tmp_path / "block.pt2").rename(tmp_path / "block.pt")
    assert tw.compile(tmp_path / "block.pt").check([x.numpy()]).agrees


def test_what_has_no_graph_is_refused(x: Any, tmp_path: Path) -> None:
    torch.save({"w": x}, tmp_path / "weights.pt")
    (tmp_path / "broken.pt2").write_bytes(b"no program")
    shutil.copy(tmp_path / "weights.pt", tmp_path / "other.pt2")
    for model, what in (
        (Block().eval(), "needs example inputs"),
        (x, "is a Tensor"),
        (tmp_path / "weights.pt", "not a graph"),
        (tmp_path / "broken.pt2", r"is no .pt2 file, or is damaged"),
        (tmp_path / "other.pt2", "is not a program of torch.export"),
        (tmp_path / "absent.pt2", "cannot be read"),
    ):
        with pytest.raises(tw.CompileError, match=what):
            tw.compile(model)


def test_pt2e_keeps_its_quantisation() -> None:
    pytest.importorskip("torchao")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(64, 5)).eval()
    x = torch.randn(1, 3, 8, 8)
    quantiser = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(net, (x,)).module(), quantiser)
    prepared(x)
    quantised = convert_pt2e(prepared)
    program = tw.compile(quantised, (x,))
    kinds = {(layer.operator, layer.dtype) for layer in program.analysis.layers}
    assert ("Conv", "int8") in kinds
    assert ("Conv", "float32") not in kinds
    step = float(np.ptp(quantised(x).detach().numpy())) / 255
    np.testing.assert_allclose(program.run(x)[0], quantised(x).detach().numpy(), atol=1.5 * step)


@pytest.mark.parametrize("by_channel", [False, True])
def test_pt2e_with_ranges_that_are_measured(by_channel: bool) -> None:
    pytest.importorskip("torchao")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5)).eval()
    x = torch.randn(3, 12)
    how = get_symmetric_quantization_config(is_per_channel=by_channel, is_dynamic=True)
    prepared = prepare_pt2e(torch.export.export(net, (x,)).module(), XNNPACKQuantizer().set_global(how))
    prepared(x)
    quantised = convert_pt2e(prepared)
    program = tw.compile(quantised, (x,))
    for given in (x, 2.5 * x - 0.3, torch.zeros_like(x)):
        np.testing.assert_allclose(program.run(given)[0], quantised(given).detach().numpy(), atol=1e-5)


class Streaming(nn.Module):
    """Frame by frame: the end of the frame before, the state of a GRU, and a count."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.gru = nn.Conv1d(2, 4, 3), nn.GRU(4, 3, batch_first=True)
        self.register_buffer("past", torch.ones(1, 2, 2))
        self.register_buffer("hidden", torch.zeros(1, 1, 3), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, frame: Any) -> Any:
        x = torch.cat([self.past, frame], 2)
        self.past = x[:, :, -2:]
        y, hidden = self.gru(torch.relu(self.conv(x)).transpose(1, 2), self.hidden)
        self.hidden.copy_(hidden)
        self.count += 1
        return y, self.count * 2


@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_buffers_that_a_module_changes_are_states(target: str) -> None:
    torch.manual_seed(0)
    module, frames = Streaming().eval(), torch.randn(4, 1, 2, 3)
    program = tw.compile(module, (frames[0],), target=target)
    assert program.graph.inputs == ("frame",)
    assert [state.name for state in program.graph.states] == ["past", "hidden", "count"]
    assert {"conv", "gru/GRU"} <= {layer.name for layer in program.analysis.layers}
    found = program.run_steps({"frame": frames.numpy()})
    for step, frame in enumerate(frames):
        wanted, count = module(frame)
        close(found["output_0"][step], wanted)
        assert found["output_1"][step] == int(count)


def test_files_with_buffers_that_change(tmp_path: Path) -> None:
    module, frames = Streaming().eval(), torch.randn(3, 1, 2, 3)
    torch.export.save(torch.export.export(module, (frames[0],)), tmp_path / "streaming.pt2")
    found = tw.compile(tmp_path / "streaming.pt2").run_steps({"frame": frames.numpy()})
    np.testing.assert_array_equal(found["output_1"], [2, 4, 6])
    close(found["output_0"], torch.stack([module(frame)[0] for frame in frames]))


def test_states_that_become_each_other() -> None:
    class Swapping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(2))
            self.register_buffer("b", torch.ones(2))

        def forward(self, x: Any) -> Any:
            old = self.a.clone()
            self.a.copy_(self.b)
            self.b.copy_(old + x)
            return self.a, self.b

    module, xs = Swapping().eval(), torch.arange(8.0).reshape(4, 2)
    found = tw.compile(module, (xs[0],)).run_steps([xs.numpy()])
    wanted = [[part.clone() for part in module(x)] for x in xs]
    np.testing.assert_array_equal(found[0], torch.stack([a for a, _ in wanted]))
    np.testing.assert_array_equal(found[1], torch.stack([b for _, b in wanted]))


def test_bfloat16_tensors_are_taken_as_they_are() -> None:
    module, x = nn.Linear(4, 4).bfloat16().eval(), torch.randn(1, 4).bfloat16()
    program = tw.compile(module, (x,))
    assert program.graph.types["input"].dtype == "bfloat16"
    np.testing.assert_allclose(np.asarray(program.run(x)[0], np.float32), module(x).detach().float().numpy(), atol=2e-2)


@pytest.mark.parametrize(
    "how",
    [{}, {"bias": False, "bidirectional": True}, {"num_layers": 2, "bidirectional": True, "batch_first": True}],
    ids=str,
)
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("has_states", [False, True])
def test_lstms_with_projections_are_others_and_a_product(how: dict[str, Any], axes: int, has_states: bool) -> None:
    torch.manual_seed(0)
    lstm, x = nn.LSTM(4, 6, proj_size=3, **how).eval(), torch.randn(5, 2, 4)[:, slice(None) if axes == 3 else 0]
    rows = (lstm.num_layers * (1 + lstm.bidirectional), 5 if lstm.batch_first else 2)[: axes - 1]
    states = (torch.randn(*rows, 3), torch.randn(*rows, 6)) if has_states else None
    other = projections.written_out(nn.Sequential(lstm))[0]
    assert not any(isinstance(part, nn.LSTM) and part.proj_size for part in other.modules())
    with torch.no_grad():
        found, wanted = (torch.utils._pytree.tree_leaves(one(x, states)) for one in (other, lstm))
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


def test_a_module_with_projections() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory, self.head = nn.LSTM(4, 6, proj_size=2, bidirectional=True), nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return self.head(self.memory(x)[0])

    torch.manual_seed(0)
    module, x = Tagger().eval(), torch.randn(5, 2, 4)
    close(tw.compile(module, (x,)).run(x)[0], module(x))
    assert module.memory.proj_size == 2


@pytest.mark.parametrize("seed", [None, 0])
def test_projections_of_packed_sequences_are_refused(seed: int | None) -> None:
    class Packing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory = nn.LSTM(4, 6, proj_size=2)

        def forward(self, x: Any) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
            return nn.utils.rnn.pad_packed_sequence(self.memory(packed)[0])[0]

    with pytest.raises(tw.CompileError, match="LSTM with projections: is given a PackedSequence"):
        tw.compile(Packing().eval(), (torch.randn(5, 2, 4),), random_seed=seed)


class Pools(nn.Module):
    def __init__(self, *sizes: Any, **how: Any) -> None:
        super().__init__()
        self.sizes, self.how = sizes, how

    def forward(self, x: Any) -> Any:
        return nn.functional.avg_pool2d(x, *self.sizes, **self.how)


@pytest.mark.parametrize(
    "pool",
    [
        Pools(2, divisor_override=3), Pools(3, 2, 1, divisor_override=5, ceil_mode=True),
        Pools(3, 2, 1, divisor_override=5, ceil_mode=True, count_include_pad=False),
        Pools((2, 3), (1, 2), 1, divisor_override=1), Pools(4, 3, 2, divisor_override=-2, ceil_mode=True),
    ],
)  # fmt: skip
def test_pools_with_a_divisor_of_their_own(pool: Any) -> None:
    x = torch.randn(2, 3, 7, 5)
    found = tw.compile(pool.eval(), (x,)).check((x,)).result.outputs["output"]
    close(found, pool(x))


def test_what_the_exporter_drops_is_refused_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.frontends.torch import operations

    monkeypatch.setattr(operations, "written_out", lambda exported, all_parts=False: exported)
    x = torch.randn(1, 3, 8, 8)
    module = nn.Sequential(nn.Conv2d(3, 8, 3), Pools(2, divisor_override=3), nn.Flatten()).eval()
    with pytest.raises(tw.CompileError) as error:
        tw.compile(module, (x,))
    assert "avg_pool2d(x, *self.sizes, **self.how)`, aten.avg_pool2d.default: is exported wrongly" in str(error.value)
    program = tw.compile(module, (x,), check_export=False)
    assert program.check((x,)).agrees


def test_complex_results_are_pairs_of_floats() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.fft(x)

    x = torch.randn(4, 8)
    found = tw.compile(Spectrum().eval(), (x,)).check((x,)).result.outputs["output"]
    close(found, torch.view_as_real(torch.fft.fft(x)))


def test_a_module_stays_as_it_was(module: Any, x: Any) -> None:
    learns = [parameter.requires_grad for parameter in module.parameters()]
    before = torch.random.get_rng_state()
    tw.compile(module, (x,))
    assert [parameter.requires_grad for parameter in module.parameters()] == learns
    assert torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), before)


class Biased(nn.Module):
    """Attention with a bias that is computed from a parameter, as windows and relative positions have it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(96, 96) for _ in range(3))
        self.bias = nn.Parameter(torch.randn(1, 3, 9, 9))
        self.register_buffer("places", torch.arange(9).flip(0))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (part(x).view(batch, length, 3, 32).transpose(1, 2) for part in self.parts)
        bias = self.bias.permute(0, 1, 3, 2)[:, :, self.places] + 1.0
        found = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return found.transpose(1, 2).reshape(batch, length, -1).contiguous()


@pytest.mark.parametrize("how", ["module", "captured with gradients", "captured without"])
def test_attention_with_a_bias_that_learns(how: str) -> None:
    module, x = Biased().eval(), torch.randn(4, 9, 96)
    model: Any = module
    if how != "module":
        with torch.set_grad_enabled("with gradients" in how):
            model = torch.export.export(module, (x,))
    found = tw.compile(model, (x,)).check((x,)).result.outputs["output"]
    close(found, module(x).detach())


def test_a_model_that_computes_something_else_where_it_is_traced() -> None:
    class Traced(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 3 if torch.compiler.is_exporting() else x * 2

    x = torch.ones(3, 4)
    close(tw.compile(Traced().eval(), (x,)).run(x)[0], x * 2)

    class Unseen(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 3 if torch.compiler.is_exporting() else x + torch.from_numpy(x.detach().numpy().copy())

    with pytest.raises(tw.CompileError, match="output 'output': is captured as another computation"):
        tw.compile(Unseen().eval(), (x,))
