"""The ops that plugins define: oarlock.ops.VENDOR.NAME.

    y = oarlock.ops.acme.swish(x, beta=2.0)      # "acme.swish", from a plugin that is loaded
    dir(oarlock.ops)                             # the vendors
    help(oarlock.ops.acme.swish)                 # its signature

Inputs come first, then the op's attributes in their order; all may be given by name, what is optional or has a default may
be left out. Where the last input is any number of tensors, attributes are given by name. One output comes back alone, several as a tuple. Oarlock's own ops are functions of the package itself.
"""

from . import _core

__all__ = []


class Op:
    """One op of a plugin, to be called."""

    def __init__(self, name):
        info = _core.op_info(name)
        self._info = info
        self._inputs = [i.name for i in info.inputs]
        self._attributes = [a.name for a in info.attributes]
        self._variadic = any(i.variadic for i in info.inputs)
        self._single = sum(not o.hidden for o in info.outputs) == 1
        self.__name__ = name.partition(".")[2]
        self.__qualname__ = name
        self.__doc__ = f"{name}{info.signature}\n\n{info.summary}\n\nDefined by the plugin {info.plugin}."

    def __call__(self, *args, **kwargs):
        if self._variadic:  # the last input takes all that follow; attributes by name
            fixed = len(self._inputs) - 1
            rest = args[fixed:]
            if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
                rest = tuple(rest[0])
            return self._result(args[:fixed] + rest, kwargs)
        given = self._bind(args, self._inputs + self._attributes, kwargs)
        inputs = [given.pop(name, None) for name in self._inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        return self._result(inputs, given)

    def _bind(self, args, names, kwargs):
        if len(args) > len(names):
            raise TypeError(f"{self.__qualname__}: takes {len(names)} arguments ({', '.join(names)}), given {len(args)}.")
        given = dict(zip(names, args))
        for name in kwargs:
            if name in given:
                raise TypeError(f"{self.__qualname__}: {name} is given twice.")
        given.update(kwargs)
        return given

    def _result(self, inputs, attributes):
        out = _core.call_op(self.__qualname__, *inputs, **attributes)
        return out[0] if self._single else out

    def __repr__(self):
        return f"<op {self.__qualname__}{self._info.signature}>"

    def __reduce__(self):
        return _op, (self.__qualname__,)


def _op(name):
    vendor, _, op = name.partition(".")
    return getattr(__getattr__(vendor), op)


class Vendor:
    """The ops of one vendor, by name."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__") or f"{self._name}.{name}" not in _names():
            known = ", ".join(dir(self)) or "none"
            raise AttributeError(f"there is no op {self._name}.{name}; {self._name} has {known}.")
        op = Op(f"{self._name}.{name}")
        self.__dict__[name] = op  # found without this function from now on
        return op

    def __dir__(self):
        return sorted(n.partition(".")[2] for n in _names() if n.startswith(self._name + "."))

    def __repr__(self):
        return f"<ops of {self._name}>"


def _names():
    _core.found_plugins()  # loads those on the search path
    return [n for n in _core.op_names() if "." in n]


_vendors = {}


def __getattr__(name):
    if name not in _vendors:
        if name.startswith("__") or not any(n.startswith(name + ".") for n in _names()):
            known = ", ".join(__dir__()) or "none"
            raise AttributeError(f"no loaded plugin defines ops of a vendor {name!r}; there are {known}. "
                                 "`oarlock doctor` says why a plugin was not loaded.")
        _vendors[name] = Vendor(name)
    return _vendors[name]


def __dir__():
    return sorted({n.partition(".")[0] for n in _names()})
