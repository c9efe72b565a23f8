"""Singular values and eigenvalues of small matrices of fixed size, by Jacobi's rotations.

A round rotates each column of one half with one of the other half; a sweep is as many rounds as bring every column
together with every other one. Signs of vectors are not unique, and may be others than LAPACK's.
"""

from __future__ import annotations

from typing import Any

from tilewright.frontends.torch.repeating import repeated

LARGEST = 16
"""Columns of matrices that are written out: a sweep of n columns is n - 1 rounds of about twenty operations."""


def _sweeps(size: int) -> int:
    """After which floats of 32 bits change no more."""
    return 1 if size < 3 else 6 if size < 6 else 8 if size < 10 else 10


def _angles(apart: Any, product: Any) -> tuple[Any, Any]:
    """Cosine and sine that make a product zero; `apart` is what the two squares differ by."""
    import torch

    is_done = product.abs() <= torch.finfo(product.dtype).tiny
    ratio = apart / (2 * torch.where(is_done, 1.0, product))
    tangent = torch.where(ratio < 0, -1.0, 1.0) / (ratio.abs() + (1 + ratio * ratio).sqrt())
    tangent = torch.where(is_done, 0.0, tangent)
    cosine = 1 / (1 + tangent * tangent).sqrt()
    return cosine, cosine * tangent


def _even(a: Any) -> Any:
    """With a column of zeros where their number is odd: it is at right angles to all others, so that it stays."""
    import torch

    return torch.nn.functional.pad(a, (0, 1)) if a.shape[-1] % 2 else a


def _rotated(a: Any, cosine: Any, sine: Any) -> Any:
    """The columns of one half, each rotated with its partner in the other half, in the order of the next round: the
    first column stays where it is and the others go around it, so that a sweep ends with the order it began with."""
    import torch

    half = a.shape[-1] // 2
    one, other = a[..., :half], a[..., half:]
    one, other = cosine * one - sine * other, sine * one + cosine * other
    if half == 1:
        return torch.cat([one, other], -1)
    return torch.cat([one[..., :1], other[..., :1], one[..., 1:-1], other[..., 1:], one[..., -1:]], -1)


def _orthogonal_columns(a: Any) -> tuple[Any, Any]:
    """A matrix whose columns are orthogonal, and the rotations that made it of a."""
    import torch

    rows, size = a.shape[-2:]
    both = _even(torch.cat([a, torch.eye(size, dtype=a.dtype).expand(*a.shape[:-2], size, size)], -2))
    half = both.shape[-1] // 2

    def round_of(both: Any) -> Any:
        one, other = both[..., :rows, :half], both[..., :rows, half:]
        product = (one * other).sum(-2, keepdim=True)
        apart = (other * other).sum(-2, keepdim=True) - (one * one).sum(-2, keepdim=True)
        return _rotated(both, *_angles(apart, product))

    both = repeated(round_of, both, _sweeps(size) * (2 * half - 1))
    return both[..., :rows, :size], both[..., rows:, :size]


def _is_small(a: Any) -> bool:
    return 0 < min(a.shape[-2:]) <= LARGEST and a.is_floating_point()


def singular_vectors(a: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    rows, columns = a.shape[-2:]
    if not _is_small(a) or (full_matrices and rows != columns):
        return NotImplemented
    if rows < columns:
        left, values, right = singular_vectors(a.mT, False)
        return right.mT, values, left.mT
    scale = _scale(a)
    turned, rotations = _orthogonal_columns(a / scale)
    values, order = _lengths(turned).sort(-1, descending=True)
    turned, rotations = (m.gather(-1, order.unsqueeze(-2).expand(m.shape)) for m in (turned, rotations))
    return _directions(turned, values), values * scale.squeeze(-1), rotations.mT


def singular_values(a: Any, *, driver: str | None = None) -> Any:
    if not _is_small(a):
        return NotImplemented
    scale = _scale(a)
    turned, _ = _orthogonal_columns((a if a.shape[-2] >= a.shape[-1] else a.mT) / scale)
    return _lengths(turned).sort(-1, descending=True)[0] * scale.squeeze(-1)


def parts_of_svd(a: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    """What other functions ask for: vectors may be left out."""
    if compute_uv:
        return singular_vectors(a, full_matrices)
    values = singular_values(a)
    return values if values is NotImplemented else (a.new_zeros(0), values, a.new_zeros(0))


def norm(a: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The largest, the least singular value, or the sum of them; others are PyTorch's own."""
    if ord not in (2, -2, "nuc") or dtype is not None:
        return NotImplemented
    values = singular_values(a.movedim(tuple(dim), (-2, -1)))
    if values is NotImplemented:
        return values
    found = values.sum(-1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
    for axis in sorted(at % a.dim() for at in dim) if keepdim else ():
        found = found.unsqueeze(axis)
    return found


def _scale(a: Any) -> Any:
    """What a is divided by, so that squares of its elements are numbers."""
    import torch

    largest = a.abs().amax((-2, -1), keepdim=True)
    return torch.where(largest > 0, largest, 1.0)


def _lengths(columns: Any) -> Any:
    return (columns * columns).sum(-2).sqrt()


def _directions(columns: Any, lengths: Any) -> Any:
    """Columns of length one; what is nothing but rounding becomes a column at right angles to the others."""
    import torch

    rows, size = columns.shape[-2:]
    unit = torch.eye(rows, dtype=columns.dtype)
    least = lengths[..., :1] * (rows * torch.finfo(columns.dtype).eps)
    found: list[Any] = []
    for at in range(size):
        length = lengths[..., at : at + 1]
        own = columns[..., at] / torch.where(length > least, length, 1.0)
        if at == 0:
            other = unit[0].expand(own.shape)
        else:
            before = torch.stack(found, -1)
            left = unit - before @ before.mT
            left = left - before @ (before.mT @ left)
            squares = (left * left).sum(-2)
            place = squares.argmax(-1, keepdim=True)
            other = left.gather(-1, place.unsqueeze(-2).expand(*place.shape[:-1], rows, 1)).squeeze(-1)
            other = other / squares.gather(-1, place).sqrt()
        found.append(torch.where(length > least, own, other))
    return torch.stack(found, -1)


def pseudo_inverse(a: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    import torch

    if hermitian or not _is_small(a):
        return NotImplemented
    left, values, right = singular_vectors(a, False)
    relative = (0.0 if atol is not None else max(a.shape[-2:]) * torch.finfo(a.dtype).eps) if rtol is None else rtol
    least = relative * values[..., :1] if atol is None else (relative * values[..., :1]).clamp(min=atol)
    kept = values > least
    inverses = torch.where(kept, 1 / torch.where(kept, values, 1.0), 0.0)
    return (right.mT * inverses.unsqueeze(-2)) @ left.mT


def eigenvectors(a: Any, UPLO: str = "L") -> Any:
    """Of a symmetric matrix, of which one triangle is read: ascending, and a vector for each."""
    import torch

    size = a.shape[-1]
    if not _is_small(a):
        return NotImplemented
    triangle = a.tril() if UPLO == "L" else a.triu().mT
    whole = triangle + triangle.tril(-1).mT
    vectors = _even(torch.eye(size, dtype=a.dtype).expand(a.shape))
    whole = _even(_even(whole).mT)
    both, all_columns = torch.cat([whole, vectors], -2), whole.shape[-1]
    half = all_columns // 2

    def round_of(both: Any) -> Any:
        diagonal = both[..., :all_columns, :].diagonal(dim1=-2, dim2=-1).unsqueeze(-2)
        product = both[..., :half, half:].diagonal(dim1=-2, dim2=-1).unsqueeze(-2)
        angles = _angles(diagonal[..., half:] - diagonal[..., :half], product)
        both = _rotated(both, *angles)
        return torch.cat([_rotated(both[..., :all_columns, :].mT, *angles).mT, both[..., all_columns:, :]], -2)

    both = repeated(round_of, both, _sweeps(size) * (all_columns - 1))
    whole, vectors = both[..., :size, :size], both[..., all_columns:, :size]
    values, order = whole.diagonal(dim1=-2, dim2=-1).sort(-1)
    return values, vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))


def eigenvalues(a: Any, UPLO: str = "L") -> Any:
    found = eigenvectors(a, UPLO)
    return found if found is NotImplemented else found[0]
