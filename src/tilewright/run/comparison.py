"""What a program computed, held to the reference or to what somebody expects; docs/agreement.md says how closely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.run.compare import (
    DEFAULT_TOLERANCE,
    IN_16_BITS,
    LAST_BIT,
    Agreement,
    Floor,
    compare,
    compare_all,
    quantisation_steps,
    rounding_steps,
)
from tilewright.run.layer_by_layer import layers_by_themselves
from tilewright.run.rounding import Floors
from tilewright.run.run_time_bytes import Rounded, as_made_by, joined, open_roundings, spread

Arrays = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Comparison:
    model: Graph
    """As it was imported: what somebody else computes."""
    meaning: Graph
    """What the reference computes."""
    lowered: Graph
    """What the C computes."""
    stored: str = ""
    """The element type of 16 bits that layers are stored in, if they are."""
    _last: list[tuple[Arrays, Arrays]] = field(default_factory=list)

    def values(self, feeds: Arrays) -> Arrays:
        """All tensors of the reference; those of the last inputs are kept."""
        if not self._last or self._last[0][0] is not feeds:
            self._last[:] = [(feeds, evaluate(self.meaning, feeds))]
        return self._last[0][1]

    def allowed(self, own: bool) -> dict[str, float]:
        """Quantisation steps by which outputs may differ: from our own reference, or from what somebody expects."""
        if own:
            return self.meaning.outputs_by_name(rounding_steps(self.meaning))
        return self.model.outputs_by_name(quantisation_steps(self.model))

    def outputs(
        self, outputs: Arrays, feeds: Arrays, expected: Arrays | None, tolerance: float,
        layers: Callable[[], Arrays] | None,
    ) -> tuple[Agreement, ...]:  # fmt: skip
        """`layers` gives all tensors that the C makes of these inputs, where it can."""
        if self.stored:
            return self._in_16_bits(outputs, feeds, expected, tolerance, layers)
        wanted, floor = (
            self._reference(feeds) if expected is None else expected,
            self._floor(feeds, expected is not None),
        )
        found = compare_all(outputs, wanted, self.allowed(expected is None), tolerance, floor)
        if expected is not None and any(one.floor is not None for one in found):
            found = self._held_to_reference(found, outputs, feeds, tolerance)
        if layers is None or not tolerance or all(one.agrees for one in found):
            return found
        return self._with_roundings(found, outputs, feeds, expected, tolerance, layers)

    def _in_16_bits(
        self, outputs: Arrays, feeds: Arrays, expected: Arrays | None, tolerance: float,
        layers: Callable[[], Arrays] | None,
    ) -> tuple[Agreement, ...]:  # fmt: skip
        """Outputs of layers in 16 bits: within a last bit of the reference's, or every layer right by itself."""
        if expected is not None:
            return compare_all(outputs, expected, self.allowed(False), self.against_others(tolerance))
        allowed = max(tolerance, LAST_BIT[self.stored])
        found = compare_all(outputs, self._reference(feeds), self.allowed(True), allowed, self._floor(feeds, False))
        if layers is None or not tolerance or all(one.agrees for one in found):
            return found
        each = list(layers_by_themselves(self.lowered, layers(), feeds, tolerance))
        wrong = next((one for one in each if not one.agrees), None)
        if wrong is not None:
            remark = f"layer '{wrong.name}' differs by {wrong.max_abs_error:.3g}"
            return tuple(one if one.agrees else replace(one, remark=remark) for one in found)
        return tuple(
            one if one.agrees else replace(one, mismatches=0, allowed=one.max_abs_error, layers=len(each))
            for one in found
        )

    def against_others(self, tolerance: float) -> float:
        """What outputs may differ from those of others; of layers in 16 bits more, if nobody says how much."""
        return IN_16_BITS[self.stored] if self.stored and tolerance == DEFAULT_TOLERANCE else tolerance

    def layers(self, made: Arrays, feeds: Arrays, tolerance: float) -> tuple[Agreement, ...]:
        """Every tensor that the C made, in order, against the reference.

        Tensors that the reference does not have are compared with the lowered graph's meaning.
        """
        if self.stored:
            return tuple(layers_by_themselves(self.lowered, made, feeds, tolerance))
        same = {name for name in made if self.meaning.types.get(name) == self.lowered.types[name]}
        own = self._rounded_as(made, self.lowered, feeds, tolerance) if set(made) - same else {}
        wanted, steps = self._rounded_as(made, self.meaning, feeds, tolerance), rounding_steps(self.lowered)
        floors = {True: Floors(self.meaning, lambda: wanted, False), False: Floors(self.lowered, lambda: own, False)}
        return tuple(
            compare(
                name, array, wanted[name] if name in same else own[name], tolerance, steps.get(name, 0.0),
                floors[name in same],
            )
            for name, array in made.items()
        )  # fmt: skip

    def _reference(self, feeds: Arrays) -> dict[str, Array]:
        return self.meaning.outputs_by_name(self.values(feeds))

    def _held_to_reference(
        self, found: tuple[Agreement, ...], outputs: Arrays, feeds: Arrays, tolerance: float
    ) -> tuple[Agreement, ...]:
        """What agrees with another program only by that one's rounding must agree with the reference without it."""
        ours = compare_all(
            outputs, self._reference(feeds), self.allowed(True), tolerance, self._floor(feeds, others=False)
        )
        return tuple(
            replace(one, remark=f"differs from the reference by {own.max_abs_error:.3g}")
            if one.floor is not None and one.agrees and not own.agrees
            else one
            for one, own in zip(found, ours, strict=True)
        )

    def _with_roundings(
        self, found: tuple[Agreement, ...], outputs: Arrays, feeds: Arrays, expected: Arrays | None, tolerance: float,
        layers: Callable[[], Arrays],
    ) -> tuple[Agreement, ...]:  # fmt: skip
        """Compared once more with what floats that are rounded at run time may become (`run_time_bytes.py`)."""
        meaning = joined(self.meaning)
        if not open_roundings(meaning):
            return found
        made = Rounded(meaning, as_made_by(self.lowered, layers(), meaning), tolerance)
        values = made.computed(feeds)
        floor = _by_name(Floors(meaning, lambda: values, False))
        ours = compare_all(outputs, meaning.outputs_by_name(values), self.allowed(True), tolerance, floor)
        if expected is None:
            return _where_differing(found, [replace(one, turned=made.turned) for one in ours])
        if not all(one.agrees for one in ours):
            return found
        spreads, steps = meaning.outputs_by_name(spread(meaning, feeds, tolerance)), self.allowed(False)
        allowed = {name: max(far, steps.get(name, 0.0)) for name, far in spreads.items()}
        theirs = compare_all(outputs, expected, allowed, tolerance, self._floor(feeds, others=True))
        return _where_differing(found, [replace(one, spread=spreads[one.name]) for one in theirs])

    def _floor(self, feeds: Arrays, others: bool) -> Floor:
        """The floors of the outputs, by their names in the model; computed where one is asked for."""
        return _by_name(Floors(self.meaning, lambda: self.values(feeds), others))

    def _rounded_as(self, made: Arrays, graph: Graph, feeds: Arrays, tolerance: float) -> Arrays:
        """All tensors of a graph; what may be rounded either way is what the C made of it."""
        values = self.values(feeds) if graph is self.meaning else evaluate(graph, feeds)
        if not tolerance or not open_roundings(meaning := joined(graph)):
            return values
        return {**values, **Rounded(meaning, as_made_by(self.lowered, made, meaning), tolerance).computed(feeds)}


def _by_name(floors: Floors) -> Floor:
    tensors = dict(zip(floors.graph.output_names, floors.graph.outputs, strict=True))
    return lambda name: floors(tensors[name])


def _where_differing(found: Sequence[Agreement], again: Sequence[Agreement]) -> tuple[Agreement, ...]:
    """The second comparison of outputs that differ in the first."""
    return tuple(first if first.agrees else second for first, second in zip(found, again, strict=True))
