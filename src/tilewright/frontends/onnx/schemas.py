"""What ONNX says about its own operators."""

from __future__ import annotations

from functools import cache

from onnx import defs


def is_defined_by_others(kind: str, domain: str, opset: int) -> bool:
    """Whether ONNX defines the operator by simpler ones."""
    schema = _schema(kind, domain, opset)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


@cache
def fewest_inputs(kind: str) -> int:
    """How few inputs the operator has in any opset: the number in a file does not always tell which one it follows."""
    fewest, schema = 0, _schema(kind, "", defs.onnx_opset_version())
    while schema is not None:
        fewest = min(fewest or schema.min_input, schema.min_input)
        schema = _schema(kind, "", schema.since_version - 1)
    return fewest


def _schema(kind: str, domain: str, opset: int) -> defs.OpSchema | None:
    try:
        return defs.get_schema(kind, max_inclusive_version=opset, domain=domain)
    except defs.SchemaError:
        return None
