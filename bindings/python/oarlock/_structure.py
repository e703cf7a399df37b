"""Arguments and results as flat lists: the tensors in lists, tuples and dicts, and what is left without them."""

from . import _core
from ._core import Tensor


class _Leaf:
    """Where a tensor stands in a structure."""

    def __repr__(self):
        return "*"


_leaf = _Leaf()


def _flatten(value, tensors):
    """The structure of value, its tensors appended to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _leaf
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _Named(type(value), tuple(_flatten(v, tensors) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_flatten(v, tensors) for v in value)
    if isinstance(value, dict):
        return {k: _flatten(v, tensors) for k, v in value.items()}
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and getattr(value, "ndim", 0):
        tensors.append(_core.tensor(value))
        return _leaf
    return value


class _Named:
    def __init__(self, type, fields):
        self.type, self.fields = type, fields

    def __repr__(self):
        return f"{self.type.__name__}{self.fields!r}"


def _restore(structure, tensors):
    if structure is _leaf:
        return next(tensors)
    if isinstance(structure, _Named):
        return structure.type(*(_restore(v, tensors) for v in structure.fields))
    if isinstance(structure, (tuple, list)):
        return type(structure)(_restore(v, tensors) for v in structure)
    if isinstance(structure, dict):
        return {k: _restore(v, tensors) for k, v in structure.items()}
    return structure


def _key(structure):
    """Tells structures apart: by value for what has one, else by identity."""
    if isinstance(structure, (tuple, list)):
        return f"{type(structure).__name__}({','.join(map(_key, structure))})"
    if isinstance(structure, dict):
        return "{" + ",".join(f"{k!r}:{_key(v)}" for k, v in structure.items()) + "}"
    if isinstance(structure, _Named):
        return structure.type.__name__ + _key(structure.fields)
    if structure is _leaf or structure is None or isinstance(structure, (bool, int, float, complex, str, bytes)):
        return f"{type(structure).__name__}:{structure!r}"
    return f"{type(structure).__name__}@{id(structure)}"
