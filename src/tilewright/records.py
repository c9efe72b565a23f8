"""Frozen dataclasses that cost little when a program starts.

`dataclass` is the standard one but for this: the functions that compare, hash, print and refuse changes are not
compiled for each class, which takes more time than all else of loading a module, and `__init__` is compiled when it is
first needed. A command loads some six hundred such classes and makes objects of half of them. `InitVar` is not known.
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
    from threading import RLock

    def dataclass(kind=None, /, **options):
        """`dataclasses.dataclass`, with its options."""
        if kind is None:
            return partial(dataclass, **options)
        if not options.get("frozen") or options.get("order") or options.get("slots"):
            return dataclasses.dataclass(kind, **options)
        own = dict(vars(kind))
        made = _with_fields(kind, options)
        made.__setattr__, made.__delattr__ = _set_nothing, _delete_nothing
        if options.get("init", True) and "__init__" not in own:
            made.__init__ = _Initialiser(made)
        if options.get("repr", True) and "__repr__" not in own:
            made.__repr__ = _text
        if options.get("eq", True):
            _make_comparable(made, own)
        return made

    _marking = RLock()

    def _with_fields(kind, options):
        """What the standard decorator makes but for functions. It compiles those that refuse changes for any class that
        is marked as frozen, and refuses one that is not if another of its line is: all get their mark afterwards."""
        line = [vars(base)["__dataclass_params__"] for base in kind.__mro__[1:] if "__dataclass_params__" in vars(base)]
        frozen = [parameters for parameters in line if parameters.frozen]
        with _marking:
            try:
                for parameters in frozen:
                    parameters.frozen = False
                without = {"init": False, "eq": False, "repr": False, "frozen": False}
                made = dataclasses.dataclass(kind, **{**options, **without})
            finally:
                for parameters in frozen:
                    parameters.frozen = True
        for name in ("init", "eq", "repr", "frozen"):
            setattr(made.__dataclass_params__, name, options.get(name, True))
        return made

    def _is_fixed(self, name):
        """A class below that is no dataclass may have attributes of its own."""
        return name in self.__dataclass_fields__ or "__dataclass_fields__" in vars(type(self))

    def _set_nothing(self, name, value):
        if _is_fixed(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def _delete_nothing(self, name):
        if _is_fixed(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    class _Initialiser:
        """Stands where a class's `__init__` will be, and compiles it when somebody asks for it."""

        def __init__(self, kind):
            self.kind = kind

        def __get__(self, made, kind=None):
            self.kind.__init__ = compiled = _initialiser(self.kind)
            return compiled.__get__(made, kind)

    class _LeftOut:
        """The default of an argument for which a function makes a value."""

        def __repr__(self):
            return "<factory>"

    def _initialiser(kind):
        """Takes the fields in order, those by keyword last, and stores them past `__setattr__`."""
        fields = dataclasses.fields(kind)
        taken = sorted((field for field in fields if field.init), key=lambda field: field.kw_only)
        known = {"__store": object.__setattr__, "__left_out": _LeftOut()}
        arguments, body = ["self"], []
        for field in taken:
            if field.kw_only and "*" not in arguments:
                arguments.append("*")
            arguments.append(field.name + _default(field, known))
        for field in fields:
            value = field.name if field.init else "__left_out"
            if field.default_factory is not dataclasses.MISSING:
                known[f"__make_{field.name}"] = field.default_factory
                value = f"__make_{field.name}() if {value} is __left_out else {value}"
            elif not field.init:
                continue
            body.append(f"__store(self, {field.name!r}, {value})")
        if hasattr(kind, "__post_init__"):
            body.append("self.__post_init__()")
        exec(f"def __init__({', '.join(arguments)}):\n  " + "\n  ".join(body or ["pass"]), known)
        made = known["__init__"]
        made.__qualname__, made.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
        made.__annotations__ = {field.name: field.type for field in taken} | {"return": None}
        return made

    def _default(field, known):
        """What stands behind an argument's name if it may be left out."""
        if field.default_factory is not dataclasses.MISSING:
            return "=__left_out"
        if field.default is dataclasses.MISSING:
            return ""
        known[f"__default_{field.name}"] = field.default
        return f"=__default_{field.name}"

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
