"""Frozen dataclasses that cost little when a program starts.

`dataclass` is the standard one but for this: the functions that compare, hash and print are not compiled for each
class, which takes more time than all else of loading a module. A command loads some six hundred of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from functools import partial
    from operator import attrgetter
    from reprlib import recursive_repr

    def dataclass(kind=None, /, **options):
        """`dataclasses.dataclass`, with its options."""
        if kind is None:
            return partial(dataclass, **options)
        if not options.get("frozen") or options.get("order") or options.get("slots"):
            return dataclasses.dataclass(kind, **options)
        own = dict(vars(kind))
        made = dataclasses.dataclass(kind, **{**options, "eq": False, "repr": False})
        if options.get("repr", True) and "__repr__" not in own:
            made.__repr__ = _text
        if options.get("eq", True):
            _make_comparable(made, own)
        return made

    @recursive_repr()
    def _text(self):
        shown = [field.name for field in dataclasses.fields(self) if field.repr]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _make_comparable(kind, own):
        """By the values of the fields, in order, but for functions that the class has of its own."""
        fields = [field for field in dataclasses.fields(kind) if field.compare]
        values = _values([field.name for field in fields])
        hashed = _values([field.name for field in fields if field.hash is not False])

        def is_equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        if "__eq__" not in own:
            kind.__eq__ = is_equal
        if own.get("__hash__") is None:
            kind.__hash__ = lambda self: hash(hashed(self))

    def _values(names):
        """What reads the fields of these names, as a tuple: its parts are equal where they are one object."""
        if len(names) > 1:
            return attrgetter(*names)
        read = [attrgetter(name) for name in names]
        return (lambda self: (read[0](self),)) if read else (lambda self: ())


__all__ = ["dataclass"]
