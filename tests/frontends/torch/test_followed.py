"""Modules that torch.export cannot follow are recorded while they run: constants, branches, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import Refusal

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from torch import nn  # noqa: E402

from tilewright.frontends.torch import followed  # noqa: E402


def draw(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Strided(nn.Module):
    """Sizes that are buffers, a mask that no input has a part in, and a branch on it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("stride", torch.tensor(3))
        self.filters = nn.Conv1d(2, 4, 5)

    def forward(self, x: Any) -> Any:
        missing = int(torch.ceil(x.shape[-1] / self.stride)) * self.stride - x.shape[-1]
        y = self.filters(nn.functional.pad(x, (missing, self.stride)))
        mask = torch.ones_like(y[:, 0])
        mask[:, -1] = 0
        if mask.all():
            return y
        y[:, :, mask.nonzero()[:, 1]] *= 2
        return y


class Both(nn.Module):
    """Branches that the input decides: one has another result, one only warns, one is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large, self.warnings = nn.Linear(4, 3), nn.Linear(4, 3), 0

    def forward(self, x: Any) -> Any:
        if 100.0 in x:
            self.warnings += 1
        if x.isnan().any():
            raise ValueError("no numbers")
        y = x * 2
        if x.abs().max() > 2:
            y += 1
            y = self.large(y) if x.sum() > 0 else -self.small(y)
        else:
            y = self.small(y)
        return {"y": y, "next": x + 1}


def same_as_torch(module: Any, program: Any, *inputs: Any) -> None:
    with torch.no_grad():
        wanted = torch.utils._pytree.tree_leaves(module(*inputs))
    found = list(program.run(inputs).outputs.values())
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)


def test_what_no_input_has_a_part_in_is_a_constant() -> None:
    torch.manual_seed(0)
    module, x = Strided().eval(), draw(1, 2, 13)
    with pytest.raises(Exception, match="data-dependent"):
        torch.export.export(module, (x,))
    program = tw.compile(module, (x,), target="generic")
    assert "filters" in {layer.name for layer in program.analysis.layers}
    for seed in (0, 1):
        same_as_torch(module, program, draw(1, 2, 13, seed=seed))


def test_branches_that_the_input_decides_are_both_computed() -> None:
    torch.manual_seed(0)
    module, x = Both().eval(), 0.1 * draw(5, 4)
    program = tw.compile(module, (x,), target="generic")
    assert list(program.graph.outputs) == ["y", "next"]
    assert module.warnings == 0
    for factor in (0.1, 10.0, -10.0):
        given = factor * (draw(5, 4).abs() if factor > 1 else draw(5, 4).abs().clamp(max=1.0))
        same_as_torch(module, program, given)


def module_of(function: Callable[..., Any]) -> Any:
    class Module(nn.Module):
        def forward(self, *given: Any) -> Any:
            return function(*given)

    return Module().eval()


def refused(function: Callable[..., Any], *inputs: Any) -> str:
    with pytest.raises(Refusal) as found:
        followed.by_running(module_of(function), inputs, {})
    return str(found.value)


def flag_written_later(x: Any, _: Any) -> Any:
    y = x.clone()
    flag = y[0]
    found = x * 2 if flag else x * 3
    y.fill_(1.0)
    return found + y


def flag_written_on_one_way(x: Any, _: Any) -> Any:
    y = x.clone()
    if y[0]:
        y.mul_(0)
        return y + 1
    return y - 1


def flag_is_an_input(x: Any, flag: Any) -> Any:
    if flag:
        flag.zero_()
        return x + 1
    return x - 1


def result_written_on_the_other_way(x: Any, _: Any) -> Any:
    y = x * 2
    if y[0]:
        return y
    y.fill_(9.0)
    return y + 1


def branch_that_writes_inside_another(x: Any, flag: Any) -> Any:
    y = x * 2
    if flag:
        return y + 1
    if y[1] > 0:
        y.mul_(3)
        return y + 2
    return y - 1


@pytest.mark.parametrize(
    "function",
    [
        flag_written_later, flag_written_on_one_way, flag_is_an_input, result_written_on_the_other_way,
        branch_that_writes_inside_another,
    ],
)  # fmt: skip
@pytest.mark.parametrize("example", [0.0, 1.0])
def test_what_a_branch_reads_and_returns_is_what_it_was_there(function: Callable[..., Any], example: float) -> None:
    program = followed.by_running(module_of(function), (torch.full((3,), example), torch.tensor(example)), {}).program
    for x in ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [1.0, -1.0, 0.0]):
        for flag in (0.0, 1.0):
            found, wanted = (
                one(torch.tensor(x), torch.tensor(flag)) for one in (program.module(check_guards=False), function)
            )
            assert torch.equal(found, wanted), (x, flag)


def chosen_index(x: Any, i: Any) -> Any:
    if (i < 100).all():
        return x[i]
    return x[i - 100] * 2


def root_of_the_negative(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return torch.linalg.cholesky(-x)


def root_if_there_is_one(x: Any) -> Any:
    try:
        return torch.linalg.cholesky(x)
    except RuntimeError:
        return x


@pytest.mark.parametrize(
    ("function", "inputs", "line"),
    [
        (chosen_index, (torch.arange(3.0), torch.tensor([0, 1, 2])), "`return x[i - 100] * 2` raises IndexError"),
        (root_of_the_negative, (torch.eye(3),), "`return torch.linalg.cholesky(-x)` raises _LinAlgError"),
    ],
)
def test_a_way_that_fails_on_these_numbers_alone_is_refused(
    function: Callable[..., Any], inputs: tuple[Any, ...], line: str
) -> None:
    with pytest.raises(tw.CompileError) as found:
        tw.compile(module_of(function), inputs, target="generic")
    assert line in found.value.what
    assert "every way of its branches" in found.value.hint


def test_an_error_that_the_module_catches_is_refused() -> None:
    assert "raises _LinAlgError" in refused(root_if_there_is_one, -torch.eye(3))


def test_a_way_that_the_module_ends_with_an_error_is_noted() -> None:
    def positive(x: Any) -> Any:
        if x.sum() < 0:
            raise ValueError("too little" if x[0] < 0 else "little")
        torch._check_tensor_all(x[1] < 9)
        return x * 2

    program = tw.compile(module_of(positive), (torch.ones(3),), target="generic")
    first, second = program.graph.notes
    assert "raises ValueError (little) for some inputs: the program does not" in first
    assert "torch._check_tensor_all(x[1] < 9)` raises RuntimeError" in second
    same_as_torch(module_of(positive), program, torch.tensor([-1.0, 2.0, 3.0]))


def test_a_refusal_that_the_module_catches_is_one() -> None:
    def swallowing(x: Any) -> Any:
        try:
            factor = float(x.max())
        except Exception:
            factor = 1.0
        return x * factor if x.sum() > 0 else -x

    assert "Python reads a value" in refused(swallowing, torch.ones(3))


def test_example_inputs_stay_as_they_are() -> None:
    def doubled(x: Any) -> Any:
        x.mul_(2)
        return x + 1 if x.sum() > 0 else x - 1

    x = np.ones(4, np.float32)
    program = tw.compile(module_of(doubled), (torch.from_numpy(x),), target="generic")
    np.testing.assert_array_equal(x, np.ones(4))
    np.testing.assert_array_equal(program.run(-x)[0], np.full(4, -3.0))


@pytest.mark.parametrize("function", [lambda x: x if x.sum() > 0 else -x, lambda x: x + torch.compiler.is_exporting()])
def test_a_fault_of_ours_is_not_hidden(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "replaying", lambda: None)
    with pytest.raises(TypeError, match="takes 0 positional arguments but 2 were given"):
        tw.compile(module_of(function), (torch.ones(4),), target="generic")


def by_numpy(x: Any) -> Any:
    return x + torch.from_numpy(np.sin(x.numpy()))


def by_view(x: Any) -> Any:
    held = torch.zeros(4)
    before = held[1:]
    held += x
    return before * 2


def halved(x: Any) -> Any:
    while x.sum() > 0.01:
        x = x / 2
    return x


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x * x.max().item(), "Python reads a value"),
        (lambda x: x.new_full((2,), x.tolist()[0]), "Python reads a value"),
        (lambda x: torch.arange(int(x.sum())), "Python reads a value"),
        (by_numpy, "Python reads a value"),
        (by_view, "something other than calls"),
        (lambda x: x[x > 0].sum(), "the size of a tensor depends on the inputs"),
        (lambda x: torch.unique(x).sum(), "the size of a tensor depends on the inputs"),
        (lambda x: x + torch.rand(4), "draws random numbers"),
        (lambda x: torch.rand_like(x), "draws random numbers"),
        (lambda x: x if torch.rand(()) > 0.5 else -x, "draws random numbers"),
        (halved, "the inputs decide branches in more than"),
        (lambda x: x if x.sum() > 0 else x[:2], "the inputs decide between results"),
    ],
)
def test_what_depends_on_inputs_is_never_a_constant(function: Callable[..., Any], why: str) -> None:
    assert why in refused(function, torch.ones(4))


def test_random_numbers_that_nothing_reads_are_left_out() -> None:
    class Drawing(nn.Module):
        def forward(self, x: Any) -> Any:
            chance = torch.rand([])
            y = torch.zeros(3)
            y[torch.arange(3)[torch.ones(3) > 0]] += x
            return y if not self.training or chance > 0.5 else x

    x = draw(3)
    found = followed.by_running(Drawing().eval(), (x,), {})
    assert torch.equal(found.program.module()(x), x)


class Noisy(nn.Module):
    def forward(self, x: Any) -> Any:
        order = torch.rand(x.shape[0]).argsort()
        return x[order] + torch.randn_like(x), order


def test_random_numbers_of_a_seed_are_constants() -> None:
    module, x = Noisy().eval(), draw(5, 3)
    with pytest.raises(tw.CompileError, match="draws random numbers") as found:
        tw.compile(module, (x,))
    assert "--random-seed N" in str(found.value)
    torch.manual_seed(7)
    wanted = module(-x)
    result = tw.compile(module, (x,), random_seed=7).run(-x)
    np.testing.assert_allclose(result[0], wanted[0].numpy(), atol=1e-6)
    np.testing.assert_array_equal(result[1], wanted[1].numpy())


def test_a_recorded_module_may_not_change_its_buffers() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            self.seen += x
            return self.seen * 2

    with pytest.raises(Refusal, match="changes its buffers"):
        followed.by_running(Counting().eval(), (torch.ones(3),), {})
