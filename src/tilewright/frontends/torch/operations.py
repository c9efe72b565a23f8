"""Operations of PyTorch that its ONNX exporter lacks or gets wrong, written with others that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.frontends.torch import (
    complex_sums,
    jacobi,
    linear_algebra,
    measured_ranges,
    selections,
    special_functions,
    windows,
)


def written_out(exported: Any, all_parts: bool = False) -> Any:
    """The program without these operations; itself where it has none of them. They may be part of another one, which
    the exporter may or may not have: all are taken apart if asked to."""
    known, has_maps = _decompositions(), any(map(_is_map, exported.graph.nodes))
    has_windows = any(map(windows.is_other, exported.graph.nodes))
    is_lacking = all_parts or any(
        (node.target in known and _is_lacking(node)) or _writes_a_part(node) for node in exported.graph.nodes
    )
    if not has_maps and not has_windows and not is_lacking:
        return exported
    found = exported.run_decompositions(_and_all_others(known) if all_parts else known)
    found = windows.written_out(found) if has_windows else found
    return _maps_as_scans(found) if has_maps else found


def _and_all_others(known: dict[Any, Any]) -> Any:
    """How PyTorch writes operations with its own, but for these."""
    import torch

    table = torch.export.default_decompositions()
    table.update(known)
    return table


def _is_map(node: Any) -> bool:
    import torch

    return node.target is torch.ops.higher_order.map_impl


def _maps_as_scans(program: Any) -> Any:
    """A map is a scan that carries nothing on, which the exporter has. The program is nobody else's."""
    import torch

    for node in filter(_is_map, program.graph.nodes):
        body, slices, others = node.args
        node.target, node.args = torch.ops.higher_order.scan, (body, [], list(slices), tuple(others))
    program.graph_module.recompile()
    return program


def notes(exported: Any) -> tuple[str, ...]:
    """What the user should know of how operations are written."""
    import torch

    counted = [node for node in exported.graph.nodes if node.target is torch.ops.aten.bincount.default]
    what = "numbers of minlength and more, which PyTorch counts, are not counted"
    return tuple(f"{node.name}: {what}" for node in counted)


DIVISOR = 6
"""Where `avg_pool2d` has its argument `divisor_override`, which the exporter drops."""


def _is_lacking(node: Any) -> bool:
    import torch

    aten = torch.ops.aten
    if node.target is aten.avg_pool2d.default:
        return len(node.args) > DIVISOR
    if node.target is aten.scaled_dot_product_attention.default:
        return any(operand.meta["val"].dim() != HEADS_AXES for operand in node.args[:3])
    if node.target is aten.arange.start:
        return _is_mixed(*node.args)
    if node.target is aten.clamp.default:
        return _has_other_bounds(node.args[0].meta["val"], *node.args[1:], *node.kwargs.values())
    if node.target is aten.einsum.default:
        return complex_sums.is_complex(node)
    if node.target in measured_ranges.decompositions():
        return measured_ranges.is_lacking(node)
    if node.target in complex_sums.moves():
        return complex_sums.is_moved(node)
    if node.target is aten.zeros.default:
        return complex_sums.is_of_complex_zeros(node)
    if node.target in (aten.index_put.default, aten.index_put_.default):
        x, indices, values, *_ = node.args
        known = [index if index is None else index.meta["val"] for index in indices]
        return selections.is_masked(x.meta["val"], known, values.meta["val"])
    return True


def _writes_a_part(node: Any) -> bool:
    """Whether it changes a slice of a tensor in place, which decomposing makes a slice_scatter of."""
    import torch

    schema = getattr(node.target, "_schema", None)
    part = node.args[0] if node.args and schema is not None and schema.is_mutable else None
    return getattr(part, "target", None) is torch.ops.aten.slice.Tensor


HEADS_AXES = 4
"""Axes that the exporter's attention has: batch, heads, rows, elements."""


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Of operands with other axes than four: all axes but the last two as heads of one batch."""
    import torch

    if query.dim() == key.dim() == value.dim() == HEADS_AXES or enable_gqa:
        return NotImplemented
    outer = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])

    def as_heads(x: Any) -> Any:
        return x.expand(*outer, *x.shape[-2:]).reshape(1, -1, *x.shape[-2:])

    mask = attn_mask if attn_mask is None or attn_mask.dim() == 2 else as_heads(attn_mask)
    found = torch.nn.functional.scaled_dot_product_attention(
        *map(as_heads, (query, key, value)), mask, dropout_p, is_causal, scale=scale
    )
    return found.reshape(*outer, *found.shape[-2:])


def _decompositions() -> dict[Any, Callable[..., Any]]:
    import torch

    aten = torch.ops.aten
    return {
        aten.cdist.default: _distances, aten._cdist_forward.default: _distances,
        aten.median.dim: _median, aten.median.default: _median_of_all,
        aten.adaptive_max_pool1d.default: _adaptive_maxima_of_rows,
        aten.adaptive_max_pool2d.default: _adaptive_maxima,
        aten._adaptive_avg_pool3d.default: _adaptive_means, aten.adaptive_avg_pool3d.default: _adaptive_means,
        aten.searchsorted.Tensor: _places,
        aten.avg_pool2d.default: _divided_sums,
        aten.scaled_dot_product_attention.default: _attention,
        aten.index_put.default: selections.put_where, aten.index_put_.default: selections.put_where,
        aten.slice_scatter.default: selections.put_slice, aten.masked_select.default: selections.masked,
        aten.cummax.default: selections.largest_so_far, aten.cummin.default: selections.least_so_far,
        aten.bincount.default: selections.frequencies, aten.kthvalue.default: selections.kth_value,
        aten.mode.default: selections.most_frequent,
        aten._embedding_bag.default: selections.bags, aten._embedding_bag_forward_only.default: selections.bags,
        aten.embedding_bag.padding_idx: selections.bags, aten.lgamma.default: special_functions.log_gamma,
        aten.erfinv.default: special_functions.inverse_erf, aten.hypot.default: special_functions.length_of_both,
        aten.linalg_inv.default: linear_algebra.inverse, aten.inverse.default: linear_algebra.inverse,
        aten.linalg_inv_ex.default: linear_algebra.inverse_with_info, aten.linalg_solve.default: linear_algebra.solved,
        aten.linalg_det.default: linear_algebra.determinant, aten.det.default: linear_algebra.determinant,
        aten.linalg_slogdet.default: linear_algebra.sign_and_logarithm,
        aten.slogdet.default: linear_algebra.sign_and_logarithm,
        aten.linalg_solve_triangular.default: linear_algebra.solved_triangle,
        aten.linalg_qr.default: linear_algebra.orthogonal_and_upper, aten.linalg_svd.default: jacobi.singular_vectors,
        aten.linalg_svdvals.default: jacobi.singular_values, aten.linalg_eigh.default: jacobi.eigenvectors,
        aten.linalg_eigvalsh.default: jacobi.eigenvalues, aten.linalg_pinv.atol_rtol_tensor: jacobi.pseudo_inverse,
        aten.linalg_pinv.atol_rtol_float: jacobi.pseudo_inverse, aten._linalg_svd.default: jacobi.parts_of_svd,
        aten.linalg_matrix_norm.default: jacobi.norm, aten.linalg_matrix_norm.str_ord: jacobi.norm,
        aten.linalg_cholesky.default: linear_algebra.cholesky,
        aten.cholesky_solve.default: linear_algebra.solved_by_cholesky,
        aten.cholesky_inverse.default: linear_algebra.inverse_by_cholesky,
        aten.linalg_matrix_exp.default: linear_algebra.exponential,
        aten.linalg_cholesky_ex.default: linear_algebra.cholesky_with_info,
        aten.sort.stable: selections.sorted_stably, aten.argsort.stable: selections.argsorted_stably,
        aten.scatter_reduce.two: selections.scattered_means,
        aten.__rshift__.Tensor: torch.bitwise_right_shift, aten.__lshift__.Tensor: torch.bitwise_left_shift,
        aten.einsum.default: complex_sums.summed, aten.zeros.default: complex_sums.zeros,
        aten.copy.default: complex_sums.copied,
        aten.clamp.default: _between, aten.arange.start: _numbers_between,
        aten.copysign.Tensor: special_functions.with_sign_of,
        aten.copysign.Scalar: special_functions.with_sign_of_number,
        aten.prod.default: _product_of_all, aten.prod.dim_int: _product, aten.cumprod.default: _products_so_far,
        **measured_ranges.decompositions(), **complex_sums.moves(),
        **dict.fromkeys(_grouped_products(), selections.products_by_group),
    }  # fmt: skip


def _grouped_products() -> list[Any]:
    """Rows of experts times the matrix of each: transformers has an operation of its own for it."""
    import torch

    ours = getattr(torch.ops, "transformers", None)
    return [packet.default] if (packet := getattr(ours, "grouped_mm_fallback", None)) is not None else []


def _is_mixed(start: Any, end: Any) -> bool:
    """Whether one of both is an integer and the other a float: the exporter's range is of both types then."""
    return {type(start), type(end)} == {int, float}


def _has_other_bounds(x: Any, *bounds: Any) -> bool:
    """Whether bounds are integers and floats, or floats for integers: the exporter has them of one type."""
    types = {type(bound) for bound in bounds if bound is not None}
    return len(types) > 1 or (float in types and not x.is_floating_point())


def _between(x: Any, low: Any = None, high: Any = None) -> Any:
    import torch

    if not _has_other_bounds(x, low, high):
        return NotImplemented
    low, high = (bound if bound is None else float(bound) for bound in (low, high))
    return x.to(torch.result_type(x, 0.0)).clamp(low, high)


def _numbers_between(start: Any, end: Any, **options: Any) -> Any:
    import torch

    return torch.arange(float(start), float(end), **options) if _is_mixed(start, end) else NotImplemented


def _distances(a: Any, b: Any, p: float = 2.0, mode: int | None = None) -> Any:
    """Of each row of a from each row of b."""
    apart = (a.unsqueeze(-2) - b.unsqueeze(-3)).abs()
    if p == 0.0:
        return (apart > 0).to(apart.dtype).sum(-1)
    if p == 1.0:
        return apart.sum(-1)
    if p == 2.0:
        return (apart * apart).sum(-1).sqrt()
    if p == float("inf"):
        return apart.amax(-1)
    return (apart**p).sum(-1) ** (1 / p)


def _median(x: Any, dim: int, keepdim: bool = False) -> Any:
    """The lower one of two, and where it stands."""
    values, indices = x.sort(dim)
    middle = (x.shape[dim] - 1) // 2
    found = values.narrow(dim, middle, 1), indices.narrow(dim, middle, 1)
    return found if keepdim else tuple(value.squeeze(dim) for value in found)


def _median_of_all(x: Any) -> Any:
    return _median(x.flatten(), 0)[0]


def _for_products(x: Any, dtype: Any) -> Any:
    """Products of integers are 64 bits wide where nothing else is said."""
    import torch

    if dtype is not None:
        return x.to(dtype)
    return x if x.is_floating_point() or x.is_complex() else x.to(torch.int64)


def _product_of_all(x: Any, *, dtype: Any = None) -> Any:
    return _product(x.flatten(), 0, dtype=dtype)


def _product(x: Any, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """One half with the other, until one element is left."""
    import torch

    x = _for_products(x, dtype)
    while (size := x.shape[dim]) > 1:
        half = x.narrow(dim, 0, size // 2) * x.narrow(dim, size // 2, size // 2)
        x = torch.cat([half, x.narrow(dim, size - 1, 1)], dim) if size % 2 else half
    return x if keepdim else x.squeeze(dim)


def _products_so_far(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Each element with the one before it, then with what is two before, four before, ..."""
    import torch

    x = _for_products(x, dtype)
    size, shift = x.shape[dim], 1
    while shift < size:
        before = torch.cat([torch.ones_like(x.narrow(dim, 0, shift)), x.narrow(dim, 0, size - shift)], dim)
        x, shift = x * before, 2 * shift
    return x


def _divided_sums(
    x: Any, window: list[int], stride: list[int] = (), padding: list[int] = (0,), ceil_mode: bool = False,  # type: ignore[assignment]
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Sums of windows over a divisor: averages of whole windows, as many of them as PyTorch has."""
    import torch

    if divisor_override is None:
        return NotImplemented
    sizes, steps, pads = (_pair(of) for of in (window, stride or window, padding))
    pooled = torch.nn.functional.avg_pool2d(
        x[:1, :1] if x.dim() == 4 else x[:1], window, stride or None, padding, ceil_mode
    )
    before_and_behind: list[int] = []
    for axis in (1, 0):
        windows, size = pooled.shape[axis - 2], x.shape[axis - 2]
        before_and_behind += [pads[axis], max(0, (windows - 1) * steps[axis] + sizes[axis] - size - pads[axis])]
    whole = torch.nn.functional.pad(x, before_and_behind)
    averages = torch.nn.functional.avg_pool2d(whole, sizes, steps)
    averages = averages[..., : pooled.shape[-2], : pooled.shape[-1]]
    return averages * (sizes[0] * sizes[1] / divisor_override)


def _pair(given: Any) -> list[int]:
    return list(given) * 2 if len(given) == 1 else list(given)


def _adaptive_maxima(x: Any, size: list[int]) -> Any:
    """Windows of several sizes, each of them a slice; and where the maxima stand in their planes."""
    import torch

    height, width = x.shape[-2:]
    values, places = [], []
    for top, bottom in _spans(height, size[0]):
        for left, right in _spans(width, size[1]):
            found, at = x[..., top:bottom, left:right].flatten(-2).max(-1)
            across = right - left
            values.append(found)
            places.append((at // across + top) * width + at % across + left)
    shape = (*x.shape[:-2], *size)
    return torch.stack(values, -1).reshape(shape), torch.stack(places, -1).reshape(shape)


def _adaptive_maxima_of_rows(x: Any, size: list[int]) -> Any:
    values, places = _adaptive_maxima(x.unsqueeze(-2), [1, *size])
    return values.squeeze(-2), places.squeeze(-2)


def _adaptive_means(x: Any, size: list[int]) -> Any:
    """One axis after the other: windows of an axis are all over the same elements of the others."""
    import torch

    for axis, parts in enumerate(size, -3):
        spans = _spans(x.shape[axis], parts)
        x = torch.cat([x.narrow(axis, first, end - first).mean(axis, keepdim=True) for first, end in spans], axis)
    return x


def _spans(size: int, parts: int) -> list[tuple[int, int]]:
    return [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def _places(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """How many of the sorted numbers come before each value."""
    import torch

    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    edges = sorted_sequence.unsqueeze(-2) if values.dim() else sorted_sequence
    each = values.unsqueeze(-1)
    before = edges <= each if right or side == "right" else edges < each
    return before.to(torch.int32 if out_int32 else torch.int64).sum(-1, dtype=None if not out_int32 else torch.int32)
