"""What buffers are called among themselves. Names from a model stand alone in a part of their own, so that none of them
can be taken for one of ours."""

from __future__ import annotations

Key = tuple[str, ...]

SCRATCH = "(scratch)"
"""A layer's working memory among its buffers; operators have no operand of that name."""

PARAMS = "(params)"
"""A layer's parameters among its buffers."""


def tensor_key(name: str) -> Key:
    """A tensor that owns its bytes."""
    return "tensor", name


def buffer_key(step: int, name: str) -> Key:
    """A layer's buffer for an operand or result, its parameters or its working memory."""
    return str(step), name


def staged_key(step: int, constant: str) -> Key:
    """A constant from behind the home while a layer reads it there, or in a memory on the way."""
    return str(step), constant, "staged"


def staging_key(step: int, operand: str) -> Key:
    """A layer's buffer in the home for parts of an operand or result that live behind it."""
    return str(step), operand, "staging"
