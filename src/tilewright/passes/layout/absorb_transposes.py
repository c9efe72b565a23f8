"""Matrix products read and store in place what Transposes would have copied: heads of attention, keys, values.

A Transpose first sinks, through views and operators that follow permuted axes, to a product that reads it in its own
order; what then is left rises to the product that makes the tensor. Rows that are multiplied are to lie one after the
other: a product that reads them otherwise has its operand stored in another order, where a product makes that as well.
What a product stores stays in rows, too: a Transpose that would scatter them stays, or is left to the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.layout.permuting import Perm, before_reshape, inverse, on_permuted_axes, then, through_reshape
from tilewright.passes.layout.simplify_transposes import SIMPLIFY_TRANSPOSES
from tilewright.passes.layout.split_columns import can_split_columns, split_columns
from tilewright.passes.rewriting import rewrite

Rule = Callable[[Graph, Node, Builder], Mapping[str, str] | None]


def run(graph: Graph) -> Graph:
    graph = _settled(graph, _sink, partial(_read_permuted, in_order=True))
    graph = rewrite(graph, partial(_in_rows, graph))
    graph = rewrite(graph, partial(_read_the_transpose, graph))
    graph = _settled(graph, _rise, _store_permuted)
    return _settled(graph, _sink, partial(_read_permuted, in_order=False))


def _settled(graph: Graph, *rules: Rule) -> Graph:
    """After the rules have been applied until none of them changes anything."""
    while True:
        before = graph.nodes
        for rule in rules:
            changed = rewrite(graph, partial(rule, graph))
            graph = graph if changed.nodes == graph.nodes else SIMPLIFY_TRANSPOSES.run(changed)
        if graph.nodes == before:
            return graph


def _kept_names(node: Node) -> dict[str, str]:
    return {name: name for name in node.outputs}


# ---- down ---------------------------------------------------------------------------------------------------------


def _sink(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """An operator of a Transpose becomes a Transpose of the operator."""
    source = graph.producers.get(_data(graph, node))
    if source is None or not isinstance(source.op, Transpose) or not is_only_reader(graph, node, source.key):
        return None
    if graph.types[node.key].bytes > graph.types[source.key].bytes:
        return None
    if isinstance(node.op, Reshape):
        found = through_reshape(source.op.perm, graph.types[source.inputs[0]].shape, node.op.shape)
        if found is None:
            return None
        made, perm = builder.add(Reshape(found[0]), source.inputs, name=node.name), found[1]
    else:
        moved = _on_axes(graph, node, builder, inverse(source.op.perm), source.inputs[0])
        if moved is None:
            return None
        made, perm = builder.add(*moved, name=node.name), source.op.perm
    builder.add(Transpose(perm), made, node.outputs, source.name)
    return _kept_names(node)


def _read_permuted(graph: Graph, node: Node, builder: Builder, in_order: bool) -> Mapping[str, str] | None:
    """A product takes over the Transposes of its operands; `in_order`: but not where it would lose neighbours."""
    if not isinstance(node.op, MatMul):
        return None
    op, inputs = node.op, list(node.inputs)
    for position in (0, 1):
        source = _transposed(graph, node.inputs[position])
        if source is None or not isinstance(source.op, Transpose):
            continue
        taken = _with_order(op, position, then(source.op.perm, order_of(op, position, len(source.op.perm))))
        shapes = [graph.types[name].shape for name in (source.key, source.inputs[0])]
        if in_order and reads_neighbours(op, position, shapes[0]) and not reads_neighbours(taken, position, shapes[1]):
            continue
        op, inputs[position] = taken, source.inputs[0]
    if tuple(inputs) == node.inputs:
        return None
    builder.add(op, inputs, node.outputs, node.name)
    return _kept_names(node)


def _transposed(graph: Graph, tensor: str) -> Node | None:
    """The Transpose that makes a tensor for nothing but products."""
    source = graph.producers.get(tensor)
    is_theirs = source is not None and isinstance(source.op, Transpose) and _is_read_by_products(graph, tensor)
    return source if is_theirs else None


def _is_read_by_products(graph: Graph, tensor: str) -> bool:
    """Whether nothing else needs a tensor than products that multiply it."""
    readers = graph.consumers.get(tensor, ())
    return tensor not in graph.sinks and all(
        isinstance(reader.op, MatMul) and tensor not in reader.inputs[2:] for reader in readers
    )


# ---- up -----------------------------------------------------------------------------------------------------------


def _rise(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A Transpose of an operator becomes an operator of a Transpose, if that ends at a product."""
    if not isinstance(node.op, Transpose) or not _reaches_product(graph, node, node.inputs[0], node.op.perm):
        return None
    source = graph.producers[node.inputs[0]]
    if isinstance(source.op, MatMul | Transpose):
        return None
    if isinstance(source.op, Reshape):
        earlier = before_reshape(graph.types[source.inputs[0]].shape, source.op.shape, node.op.perm)
        if earlier is None:
            batch, shown = split_columns(graph, source, builder)
            builder.add(Transpose(then(shown, node.op.perm)), [batch], node.outputs, node.name)
            return _kept_names(node)
        made = builder.add(Transpose(earlier[0]), source.inputs, name=node.name)
        builder.add(Reshape(earlier[1]), made, node.outputs, source.name)
        return _kept_names(node)
    (made_first,) = builder.add(Transpose(node.op.perm), [_data(graph, source)], name=node.name)
    moved = present(
        _on_axes(graph, source, builder, node.op.perm, made_first), source.where, "cannot take its Transpose over"
    )
    builder.add(*moved, node.outputs, source.name)
    return _kept_names(node)


def _store_permuted(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A product whose result only a Transpose reads stores it in that order."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, Transpose) else None
    if source is None or not isinstance(source.op, MatMul) or not isinstance(node.op, Transpose):
        return None
    if not is_only_reader(graph, node, source.key) or not keeps_rows(node.op.perm, graph.types[source.key].shape):
        return None
    perm = then(source.op.perm_y or tuple(range(len(node.op.perm))), node.op.perm)
    op = replace(source.op, perm_y=() if perm == tuple(sorted(perm)) else perm)
    builder.add(op, source.inputs, node.outputs, source.name)
    return _kept_names(node)


def _read_the_transpose(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A product beside a Transpose that is needed anyway, such as an output, reads that: it can rise then."""
    if node.key in builder.types:
        return _kept_names(node)
    if not isinstance(node.op, MatMul):
        return None
    op, inputs = node.op, list(node.inputs)
    for position in (0, 1):
        tensor = node.inputs[position]
        beside = _lone_transpose(graph, tensor)
        if beside is None or not isinstance(beside.op, Transpose):
            continue
        taken = _with_order(op, position, then(inverse(beside.op.perm), order_of(op, position, len(beside.op.perm))))
        if reads_neighbours(op, position, graph.types[tensor].shape) and not reads_neighbours(
            taken, position, graph.types[beside.key].shape
        ):
            continue
        if beside.key not in builder.types:
            builder.add(beside.op, beside.inputs, beside.outputs, beside.name)
        op, inputs[position] = taken, beside.key
    if op == node.op:
        return None
    builder.add(op, inputs, node.outputs, node.name)
    return _kept_names(node)


def _lone_transpose(graph: Graph, tensor: str) -> Node | None:
    """The one Transpose among the products that read a tensor, if it could rise without them."""
    readers = graph.consumers.get(tensor, ())
    found = [reader for reader in readers if isinstance(reader.op, Transpose)]
    others = [reader for reader in readers if not isinstance(reader.op, Transpose)]
    if len(found) != 1 or not others or tensor in graph.sinks or not isinstance(found[0].op, Transpose):
        return None
    if not all(isinstance(other.op, MatMul) and tensor not in other.inputs[2:] for other in others):
        return None
    return found[0] if _can_be_made(graph, tensor, found[0].op.perm) else None


def _reaches_product(graph: Graph, reader: Node, tensor: str, perm: Perm) -> bool:
    """Whether a Transpose of a tensor can rise to a product, or another Transpose, that makes it."""
    return is_only_reader(graph, reader, tensor) and _can_be_made(graph, tensor, perm)


def _can_be_made(graph: Graph, tensor: str, perm: Perm) -> bool:
    """Whether a product or a Transpose can make a tensor in another order, if all its readers want it so."""
    node = graph.producers.get(tensor)
    if node is None:
        return False
    if isinstance(node.op, MatMul):
        return keeps_rows(perm, graph.types[tensor].shape)
    if isinstance(node.op, Transpose):
        return True
    data = _data(graph, node)
    if not data:
        return False
    if isinstance(node.op, Reshape):
        earlier = before_reshape(graph.types[data].shape, node.op.shape, perm)
        if earlier is None:
            return can_split_columns(graph, node) and keeps_rows(perm, node.op.shape)
        return _reaches_product(graph, node, data, earlier[0])
    if len(graph.types[data].shape) != len(perm):
        # A reduction that drops axes, or a broadcast that adds some: the order of the result's axes says nothing here.
        return False
    moved = on_permuted_axes(node.op, perm, _shapes(graph, node))
    return moved is not None and moved.result and _reaches_product(graph, node, data, perm)


def keeps_rows(perm: Perm, shape: Shape) -> bool:
    """Whether elements that were neighbours along the last axis still are."""
    long = [axis for axis, size in enumerate(shape) if size != 1]
    return long[-1:] == [axis for axis in perm if shape[axis] != 1][-1:]


# ---- rows ---------------------------------------------------------------------------------------------------------


def _in_rows(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A product reads a Transpose in which what it multiplies lies in contiguous rows, if that can rise."""
    if not isinstance(node.op, MatMul):
        return None
    op, inputs = node.op, list(node.inputs)
    for position in (0, 1):
        tensor = node.inputs[position]
        shape = graph.types[tensor].shape
        if tensor in graph.constants or reads_rows(op, position, shape):
            continue
        matrix = _matrix_axes(op, position, len(shape))
        perm = (*(axis for axis in range(len(shape)) if axis not in matrix), *matrix)
        if _reaches_product(graph, node, tensor, perm):
            op = _with_order(op, position, then(inverse(perm), order_of(op, position, len(shape))))
            (inputs[position],) = builder.add(Transpose(perm), [tensor])
    if op == node.op:
        return None
    builder.add(op, inputs, node.outputs, node.name)
    return _kept_names(node)


def reads_neighbours(op: MatMul, position: int, shape: Shape) -> bool:
    """Whether the elements of a row of A, or a column of B, lie side by side in an operand of that stored shape."""
    inner = _matrix_axes(op, position, len(shape))[-1]
    return shape[inner] == 1 or all(size == 1 for size in shape[inner + 1 :])


def reads_rows(op: MatMul, position: int, shape: Shape) -> bool:
    """Whether, besides, one row of A or column of B follows the other."""
    *row, inner = _matrix_axes(op, position, len(shape))
    long = [axis for axis, size in enumerate(shape) if size != 1]
    wanted = [axis for axis in (*row, inner) if shape[axis] != 1]
    return long[len(long) - len(wanted) :] == wanted


def _matrix_axes(op: MatMul, position: int, rank: int) -> Perm:
    """The stored axes of rows of A, or columns of B, and of what is summed over; of a vector only the latter."""
    axes = order_of(op, position, rank)[-2:]
    swapped = (op.trans_a, op.trans_b)[position] != (position == 1)
    return axes[::-1] if swapped else axes


def order_of(op: MatMul, position: int, rank: int) -> Perm:
    """In which order a product reads the axes of an operand, before trans_a or trans_b."""
    return (op.perm_a, op.perm_b)[position] or tuple(range(rank))


def _with_order(op: MatMul, position: int, perm: Perm) -> MatMul:
    """The product with another order of an operand's axes, in the shortest way to say it."""
    in_order = tuple(range(len(perm)))
    transposed = (op.trans_a, op.trans_b)[position]
    if len(perm) > 1 and perm == (*in_order[:-2], in_order[-1], in_order[-2]):
        perm, transposed = in_order, not transposed
    stored = () if perm == in_order else perm
    if position == 0:
        return replace(op, perm_a=stored, trans_a=transposed)
    return replace(op, perm_b=stored, trans_b=transposed)


# ---- operators ----------------------------------------------------------------------------------------------------


def _data(graph: Graph, node: Node) -> str:
    """The one tensor that a node with one result reads, besides constants; empty where there are several."""
    given = [name for name in node.inputs if name and name not in graph.constants]
    return given[0] if len(given) == 1 and len(node.outputs) == 1 else ""


def _shapes(graph: Graph, node: Node) -> list[Shape]:
    return [graph.types[name].shape if name else () for name in node.inputs]


def _on_axes(graph: Graph, node: Node, builder: Builder, perm: Perm, data: str) -> tuple[Op, Sequence[str]] | None:
    """A node on permuted axes and its inputs: `data`, which is permuted already, and permuted constants."""
    moved = on_permuted_axes(node.op, perm, _shapes(graph, node))
    if moved is None or not moved.result:
        return None
    inputs = []
    for position, name in enumerate(node.inputs):
        if name in graph.constants and position in moved.operands:
            value = graph.constants[name]
            full = value.reshape((1,) * (len(perm) - value.ndim) + value.shape)
            inputs.append(builder.constant(full.transpose(perm).copy(), name) if value.size > 1 else name)
        else:
            inputs.append(name if name in graph.constants or not name else data)
    return moved.op, inputs


def none_for_products(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        for tensor in node.inputs[:2] if isinstance(node.op, MatMul) else ():
            if (source := _transposed(graph, tensor)) is not None:
                yield node.where, f"multiplies what {source.where} transposes for products alone"


ABSORB_TRANSPOSES = Pass("absorb transposes", run, ensures=none_for_products)
