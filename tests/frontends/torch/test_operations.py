"""Operations that PyTorch's ONNX exporter lacks: the compiled network gives what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.checks import same
from tilewright.frontends.torch import jacobi, selections

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
attention = torch.nn.functional.scaled_dot_product_attention


class Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *operands: Any) -> Any:
        return self.function(*operands)


def draw(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def clipped(x: Any) -> Any:
    y = x.clone()
    y[y < 0] = 0.5
    return y


def rows_set(x: Any) -> Any:
    y = x.clone()
    y[x[:, 0] > 0] = -1.0
    return y


def slices_set(x: Any) -> Any:
    y = x.clone()
    y[1:3, 2:] += x[:2, 1:4]
    y[:, -1:] = 0.25
    y[::2] *= 2.0
    y[3:1] = 0.5
    return y


def chosen_experts(x: Any, gate: Any, first: Any, second: Any) -> Any:
    """A mixture of experts as it is mostly written: each for the tokens that chose it."""
    weights, chosen = torch.topk((x @ gate).softmax(-1), 2)
    y = torch.zeros_like(x)
    for number in range(first.shape[0]):
        token, place = torch.where(chosen == number)
        found = torch.nn.functional.silu(x[token] @ first[number]) @ second[number]
        y.index_add_(0, token, found * weights[token, place, None])
    return y


def moved_frequencies(x: Any) -> Any:
    """Complex numbers that are chosen, repeated, padded and summed up."""
    found = torch.fft.rfft(x)
    chosen = found[:, 1] * found.select(-2, 0) + found.unsqueeze(1).expand(-1, 2, -1, -1)[:, 1, 2].conj()
    others = torch.nn.functional.pad(found.repeat(1, 1, 2).cumsum(-1), (1, 0))
    framed = torch.nn.functional.pad(found.cumsum(0, dtype=torch.complex64), (0, 1, 2, 0), value=3.0)
    return (
        chosen.abs(),
        torch.view_as_real(others),
        torch.view_as_real(framed),
        torch.view_as_real(found.index_select(1, torch.tensor([2, 0]))),
    )


def mixed_frequencies(x: Any, real: Any, imaginary: Any) -> Any:
    """Some frequencies times complex weights, written between zeros; and products of three."""
    found = torch.fft.rfft2(x)
    weights, out = torch.complex(real, imaginary), torch.zeros(*found.shape, dtype=torch.cfloat)
    out[..., :3, 1:4] = torch.einsum("bixy,ioxy->boxy", found[..., :3, 1:4], weights)
    powers = torch.einsum("bixy,bjxy,ijmn->bxy", found, found.conj(), weights[:, :, :1, :1])
    return torch.fft.irfft2(out, s=x.shape[-2:]), torch.view_as_real(powers)


def rebuilt(a: Any, b: Any) -> Any:
    """Matrices from their factors, whose signs are the algorithm's own."""
    left, values, right = torch.linalg.svd(a, full_matrices=False)
    eigenvalues, vectors = torch.linalg.eigh(b + b.mT)
    return left @ torch.diag_embed(values) @ right, vectors @ torch.diag_embed(eigenvalues) @ vectors.mT, eigenvalues


def norms(a: Any) -> Any:
    kinds = (2, -2, "nuc", "fro", 1)
    return [torch.linalg.matrix_norm(a, kind) for kind in kinds], torch.linalg.svdvals(a), torch.linalg.pinv(a)


def with_triangles(a: Any, b: Any) -> Any:
    solve = torch.linalg.solve_triangular
    return solve(a, b, upper=True), solve(a, b, upper=False, unitriangular=True), solve(a, b.mT, upper=True, left=False)


def least_squares(a: Any, b: Any) -> Any:
    tall, wide = torch.linalg.lstsq(a, b), torch.linalg.lstsq(a.mT, b[:, :2], driver="gelsd")
    return tall.solution, wide.solution, wide.rank, wide.singular_values


def by_cholesky(factor: Any, b: Any) -> Any:
    return torch.cholesky_solve(b, factor, upper=True), torch.cholesky_inverse(factor.mT)


def scattered_means(x: Any, index: Any, source: Any) -> Any:
    return [x.scatter_reduce(1, index, source, "mean", include_self=own) for own in (True, False)]


def windowed(x: Any) -> Any:
    long = torch.cat([torch.hamming_window(3, False), torch.hamming_window(1), torch.hamming_window(1, False)])
    return x * torch.hamming_window(5), x * torch.hamming_window(5, False, 0.6, 0.3), x * long


def larger(a: Any, b: Any) -> Any:
    """As loops, one behind the other, of matrices of other sizes."""
    square = a @ a.mT + torch.eye(7)
    values = torch.linalg.svdvals(b), torch.linalg.eigvalsh(square)
    return torch.linalg.solve(a, b), torch.linalg.det(a), torch.linalg.cholesky(square), torch.linalg.qr(a).R, *values


X = draw(4, 5)
SQUARE = draw(2, 4, 4)
INDICES = torch.tensor([1, 2, 2, 5, 0])
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "attention of five axes": (lambda q, k: attention(q, k, k), (draw(2, 3, 2, 6, 8), draw(2, 3, 2, 5, 8))),
    "attention of three axes": (lambda q: attention(q, q, q, is_causal=True), (draw(2, 6, 8),)),
    "attention with a mask": (lambda q, m: attention(q, q, q, m), (draw(2, 3, 2, 6, 8), draw(2, 1, 1, 6, 6))),
    "a value where a mask holds": (clipped, (X,)),
    "a value for some rows": (rows_set, (X,)),
    "lgamma": (torch.lgamma, (torch.cat([X, X.abs() + 0.1, 5 * X.abs() + 2]),)),
    "erfinv": (torch.erfinv, (torch.cat([X.tanh(), torch.tensor([[0.0, -0.999999, 0.999999, 1.0, -1.0]])]),)),
    "hypot": (torch.hypot, (X, draw(4, 5) + 1)),
    "copysign": (torch.copysign, (X, torch.cat([X.flip(0)[:3], torch.tensor([[0.0, -0.0, 1, -1, 2]])]))),
    "bits": (lambda x: ((x[..., None] >> torch.arange(8)) & 1, x << torch.arange(5)), ((X * 90).long(),)),
    "complex moves": (moved_frequencies, (draw(2, 3, 8),)),
    "complex einsum": (mixed_frequencies, (draw(2, 3, 6, 8), draw(3, 3, 3, 3), draw(3, 3, 3, 3).flip(0))),
    "cummax": (lambda x: torch.cummax(x, 1), (X.round(),)),
    "cummin": (lambda x: torch.cummin(x, 0), (X.round(),)),
    "slices in place": (slices_set, (X,)),
    "kthvalue": (lambda x: torch.kthvalue(x, 2, 1), (X,)),
    "mode": (lambda x: torch.mode(x, 1).values, (X.round(),)),
    "bags": (lambda i, w: torch.nn.functional.embedding_bag(i, w, mode="mean"), (torch.tensor([[1, 2], [0, 3]]), X)),
    "bags with offsets": (
        lambda i, w, o: torch.nn.functional.embedding_bag(i, w, o, mode="max"),
        (torch.tensor([1, 2, 0, 3, 3]), X, torch.tensor([0, 2, 2])),
    ),
    "det": (torch.linalg.det, (SQUARE,)),
    "det of singular matrices": (torch.linalg.det, (torch.stack([torch.zeros(3, 3), torch.ones(3, 3)]),)),
    "inverse": (torch.linalg.inv, (SQUARE,)),
    "solve": (torch.linalg.solve, (SQUARE, draw(2, 4, 3))),
    "solve for a vector": (torch.linalg.solve, (SQUARE[0], draw(4))),
    "singular values, eigenvalues": (rebuilt, (draw(2, 2, 3), SQUARE[:, :2, :2])),
    "norms of matrices": (norms, (draw(2, 4, 2),)),
    "triangles": (with_triangles, (SQUARE + 3 * torch.eye(4), draw(2, 4, 3))),
    "qr": (lambda a: (*torch.linalg.qr(a), torch.linalg.qr(a.mT, "r").R), (draw(2, 4, 3),)),
    "slogdet": (torch.linalg.slogdet, (torch.cat([SQUARE, torch.zeros(1, 4, 4)]),)),
    "adaptive means of volumes": (
        lambda x: torch.nn.functional.adaptive_avg_pool3d(x, (2, 1, 3)),
        (draw(2, 3, 5, 4, 7),),
    ),
    "sort": (
        lambda x: (torch.sort(x, dim=1, stable=True), x.argsort(dim=0, stable=True, descending=True)),
        (X.round(),),
    ),
    "means of scattered elements": (scattered_means, (X, INDICES[:4].view(4, 1) % 5, draw(4, 1))),
    "hamming windows": (windowed, (X,)),
    "larger matrices": (larger, (draw(7, 7), draw(7, 2))),
    "bincount": (lambda x, w: (torch.bincount(x, minlength=6), torch.bincount(x, w, 6)), (INDICES, draw(5))),
    "least squares": (least_squares, (draw(2, 4, 2), draw(2, 4))),
    "covariances": (
        lambda x, w: (x.cov(), torch.cov(x, aweights=w), torch.cov(x, correction=9), torch.corrcoef(x)),
        (X, draw(5).abs()),
    ),
    "a matrix's exponential": (lambda a: torch.linalg.matrix_exp(a), (torch.stack([SQUARE[0], 0 * X[:, :4]]),)),
    "what PyTorch writes with singular values": (torch.linalg.matrix_rank, (SQUARE[:, :2, :2],)),
    "weights that a hook computes": (torch.nn.utils.weight_norm(torch.nn.Linear(5, 3)), (X,)),
    "bounds of two types": (lambda x: (x.clamp(-1, 0.5), x.clamp(min=0.25, max=1), x.clamp(max=1), x.clamp(0.1)), (X,)),
    "floats as bounds of integers": (
        lambda x: (x.clamp(-1.5, 20), x.clamp(0, 20), x.clamp(max=2.5)),
        ((X * 90).long(),),
    ),
    "experts": (chosen_experts, (draw(5, 6), draw(6, 3), draw(3, 6, 4), draw(3, 4, 6))),
    "a range from an integer to a float": (lambda x: x * torch.arange(-2, 3.0), (X,)),
    "solving by Cholesky's factor": (by_cholesky, (SQUARE[0, :3, :3].triu(), draw(3, 2))),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(4)), (SQUARE,)),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    gives_what_pytorch_gives(*CASES[name])


@pytest.mark.thorough
def test_larger_matrices() -> None:
    """PyTorch's exporter takes long for the hundreds of operations of each."""
    gives_what_pytorch_gives(rebuilt, (draw(2, 3, 5), SQUARE))
    gives_what_pytorch_gives(norms, (draw(2, 4, 3),))


def gives_what_pytorch_gives(function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    module = Function(function).eval()
    program = tw.compile(module, operands, target="generic")
    wanted = torch.utils._pytree.tree_leaves(module(*operands))
    inputs = {tensor: operand.numpy() for tensor, operand in zip(program.graph.inputs, operands, strict=True)}
    found = program.run(inputs).outputs.values()
    for array, value in zip(found, wanted, strict=True):
        same(np.asarray(array), value.detach().numpy(), 1e-4)


CHOICES = {
    "masked_select": (lambda x: torch.masked_select(x, x > 0.3), X),
    "a mask as an index": (lambda x: x[x > 0.3], X),
    "nonzero": (lambda x: torch.nonzero(x > 0.3), X),
    "unique": (torch.unique, torch.tensor([3, 1, 1, 4, 0, 3])),
    "unique rows": (lambda x: torch.unique(x, dim=0), X[[0, 2, 0, 1]]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_as_many_as_data_says(name: str) -> None:
    function, x = CHOICES[name]
    found, count = tw.compile(Function(function).eval(), (x,), target="generic").run(x).outputs.values()
    same(np.asarray(found)[: int(count[0])], function(x).numpy(), 1e-6)


def test_bincount_says_what_it_does_not_count() -> None:
    program = tw.compile(Function(lambda x: torch.bincount(x, minlength=6)).eval(), (INDICES,))
    assert any("numbers of minlength and more" in note for note in program.analysis.notes)


def test_bincount_without_a_bound_is_refused() -> None:
    with pytest.raises(tw.CompileError, match="bincount: without minlength gives a tensor whose size depends"):
        tw.compile(Function(lambda x: torch.bincount(x)).eval(), (INDICES,))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("kind", ["any", "equal columns", "zero", "graded", "wide"])
def test_vectors_of_singular_values_stand_at_right_angles(size: int, kind: str) -> None:
    a = draw(4, size + 2, size)
    if kind == "equal columns":
        a[..., 0] = a[..., -1]
    change = {"zero": torch.zeros(size), "graded": torch.logspace(0, -5, size), "wide": torch.tensor(1e15)}
    a = a * change.get(kind, torch.ones(size))
    left, values, right = jacobi.singular_vectors(a, False)
    largest = max(float(values.max()), 1e-30)
    wanted = torch.linalg.svdvals(a.double())
    assert float((values - wanted).abs().max()) < 1e-5 * largest
    assert float((left * values.unsqueeze(-2) @ right - a).abs().max()) < 1e-5 * largest
    for one in (left.mT @ left, right @ right.mT):
        assert float((one - torch.eye(size)).abs().max()) < 3e-5


@pytest.mark.parametrize("ends", [[2, 2, 7], [0, 3, 3], [7, 7, 7], [1, 2, 3]])
def test_rows_of_experts_times_the_matrix_of_each(ends: list[int]) -> None:
    """Both ways: copies of matrices for few rows, all products for many."""
    rows, matrices = draw(ends[-1], 5), draw(3, 5, 4)
    wanted = torch.zeros(ends[-1], 4)
    for group, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        wanted[start:end] = rows[start:end] @ matrices[group]
    module, operands = Function(selections.products_by_group).eval(), (rows, matrices, torch.tensor(ends))
    (found,) = tw.compile(module, operands, target="generic").run(*operands).outputs.values()
    same(np.asarray(found), wanted.numpy(), 1e-4)
