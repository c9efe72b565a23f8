"""Sums of products of tensors whose axes have names: as a matrix product wherever something is summed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilewright.ir.types import Shape
from tilewright.ir.value import Value
from tilewright.records import dataclass

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A tensor with one name for each axis, none twice."""

    value: Value
    labels: Labels

    def sizes(self, labels: Sequence[str]) -> Shape:
        return tuple(self.value.shape[self.labels.index(label)] for label in labels)

    def ordered(self, labels: Sequence[str]) -> Term:
        return Term(self.value.transpose([self.labels.index(label) for label in labels]), tuple(labels))

    def only(self, wanted: Sequence[str]) -> Term:
        """Summed over all axes but those."""
        axes = [axis for axis, label in enumerate(self.labels) if label not in wanted]
        if not axes:
            return self
        kept = tuple(label for label in self.labels if label in wanted)
        return Term(self.value.sum(axes, keepdims=False), kept)

    def spread(self, labels: Sequence[str]) -> Value:
        """With an axis of size 1 for each name that the tensor does not have."""
        own = [label for label in labels if label in self.labels]
        moved = self.ordered(own)
        return moved.value.reshape([moved.sizes([label])[0] if label in own else 1 for label in labels])


def contracted(terms: Sequence[Term], wanted: Labels, extents: Mapping[str, int]) -> Value:
    """The product of all terms, summed over what is not wanted and repeated along what none of them has."""
    total = terms[0]
    for position, term in enumerate(terms[1:], 1):
        later = tuple(label for other in terms[position + 1 :] for label in other.labels)
        total = product(total, term, (*wanted, *later))
    found = total.only(wanted).spread(wanted)
    return found.expand([extents[label] for label in wanted]) if wanted else found


def product(left: Term, right: Term, wanted: Labels) -> Term:
    """Summed over axes that nobody wants."""
    a, b = left.only((*wanted, *right.labels)), right.only((*wanted, *left.labels))
    common = [label for label in a.labels if label in b.labels]
    summed = [label for label in common if label not in wanted]
    rows = [label for label in a.labels if label not in common]
    columns = [label for label in b.labels if label not in common]
    batch = [label for label in wanted if label in common]
    if not summed:
        every = [label for label in dict.fromkeys((*wanted, *a.labels, *b.labels)) if label in (*a.labels, *b.labels)]
        return Term(a.spread(every) * b.spread(every), tuple(every))
    if rows and columns and _stands_before(columns[0], rows[0], wanted):
        a, b, rows, columns = b, a, columns, rows
    first, trans_a = _matrix(a, batch, rows, summed)
    second, trans_b = _matrix(b, batch, columns, summed)
    found = first.times_matrix(second, trans_a, not trans_b)
    labels = (*batch, *rows, *columns)
    sizes = (*a.sizes(batch), *a.sizes(rows), *b.sizes(columns))
    return Term(found.reshape(sizes), labels)


def _matrix(term: Term, batch: Sequence[str], kept: Sequence[str], summed: Sequence[str]) -> tuple[Value, bool]:
    """[batch, kept, summed], or the last two exchanged where the tensor lies so."""
    is_exchanged = term.labels == (*batch, *summed, *kept) and bool(kept)
    inner = (summed, kept) if is_exchanged else (kept, summed)
    moved = term.ordered([*batch, *inner[0], *inner[1]])
    sizes = [*term.sizes(batch), *(math.prod(term.sizes(labels)) for labels in inner)]
    return moved.value.reshape(sizes), is_exchanged


def _stands_before(first: str, second: str, order: Sequence[str]) -> bool:
    return first in order and second in order and order.index(first) < order.index(second)
