"""Files that Vela makes, with TensorFlow Lite's own numbers where Vela's are coarser or off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.frontends.tflite.file import read
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.targets.ethos_u.debug_database import operators_of_streams
from tilewright.targets.ethos_u.finer_factors import factors_of, put_factors
from tilewright.targets.ethos_u.reciprocals import has_reciprocals, put_reciprocals

NPU_OPERATOR = "ethos-u"


def corrected(given: bytes, made: bytes, database: str) -> bytes:
    """The file that Vela made of a given one; the debug database is of the same run."""
    (graph, *_) = read(given).subgraphs
    wanted, has_table = factors_of(graph), has_reciprocals(graph)
    if not wanted and not has_table:
        return made
    streams = operators_of_streams(database)
    for (stream, constants), operators in zip(_parts(made), streams, strict=True):
        payload = read_payload(stream.tobytes(), "the command stream")
        words, values = payload.words.copy(), constants.copy()
        put_factors(words, operators, wanted)
        if has_table:
            put_reciprocals(words, values)
        made = _replaced(made, stream, np.concatenate([payload.before, words]).astype("<u4").view(np.uint8))
        made = _replaced(made, constants, values)
    return made


def _parts(made: bytes) -> Iterator[tuple[Array, Array]]:
    """Bytes of streams and of their constants."""
    (graph, *_) = read(made).subgraphs
    for one in graph.operators:
        if one.kind == NPU_OPERATOR:
            stream, constants = (graph.tensors[place].value for place in one.inputs[:2])
            yield _bytes(stream), _bytes(constants)


def _bytes(value: Array | None) -> Array:
    return np.zeros(0, np.uint8) if value is None else value.reshape(-1).view(np.uint8)


def _replaced(made: bytes, before: Array, after: Array) -> bytes:
    old, new = before.tobytes(), after.tobytes()
    return made.replace(old, new, 1) if old != new else made
