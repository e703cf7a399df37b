"""Layers. Names and arguments are those of paddle.nn; names in state dicts and layouts of weights those of torch.nn.

    >>> class Net(oarlock.nn.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = oarlock.nn.Linear(4, 2)
    ...         self.scale = oarlock.nn.Parameter(oarlock.ones(1))
    ...     def forward(self, x):
    ...         return self.fc(x) * self.scale
    >>> net = Net()
    >>> net(oarlock.zeros((3, 4))).shape
    (3, 2)
    >>> list(net.state_dict())
    ['scale', 'fc.weight', 'fc.bias']
"""

import sys as _sys

from . import _core
from ._core import Tensor
from ._core._nn import *
from ._core._nn import Layer, Sequential, initializer

_layers = _core._nn
_sys.modules[__name__ + ".initializer"] = initializer
for _c in vars(_layers).values():
    if isinstance(_c, type):
        _c.__module__ = __name__


class Parameter(Tensor):
    """A tensor that a layer learns: set as an attribute of a layer, it is registered.

    >>> oarlock.nn.Parameter(oarlock.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data, requires_grad=True, dtype=None, device=None):
        made = super().__new__(cls, data, dtype, device)
        made.requires_grad = requires_grad
        return made

    def __init__(self, data, requires_grad=True, dtype=None, device=None):
        pass


class ParamAttr:
    """How a layer makes a parameter: its first value, and whether it learns."""

    def __init__(self, name=None, initializer=None, trainable=True):
        self.name, self.initializer, self.trainable = name, initializer, trainable


_plain_set, _ready = object.__setattr__, Layer._ready


def _set(self, name, value):
    if not _ready(self):
        raise AttributeError(f"{type(self).__name__}: the layer is not made yet. Call super().__init__() first.")
    kept = self.__dict__
    if isinstance(value, Layer):
        if name in kept:
            kept.pop(name)
        if self._has_own(name) and not isinstance(self._own(name)[1], Layer):
            self._remove(name)
        self._set_sublayer(name, value)
        kept[name] = value  # found without asking C++
        return
    if isinstance(value, Parameter) or (isinstance(value, Tensor) and self._has_own(name)):
        registered = self._has_own(name)
        if registered and isinstance(self._own(name)[1], Layer):
            self._remove(name)
            registered = False
        kept.pop(name, None)
        if isinstance(value, Parameter) or name in self._parameter_names():
            self._set_parameter(name, value) if registered else self._add_parameter(name, value, value.requires_grad)
        else:
            self._set_buffer(name, value)
        kept[name] = value
        return
    if value is None and self._has_own(name):
        kept.pop(name, None)
        if isinstance(self._own(name)[1], Layer):
            self._remove(name)
            kept[name] = None
        elif name in self._parameter_names():
            self._remove(name)
            self._add_parameter(name, None)
        else:
            self._set_buffer(name, None)
        return
    _plain_set(self, name, value)


def _get(self, name):
    """Only where Python found nothing."""
    if not name.startswith("__") and _ready(self):
        there, value = self._own(name)
        if there:
            return value
    raise AttributeError(f"{type(self).__name__}: there is no attribute '{name}'.")


def _delete(self, name):
    found = self.__dict__.pop(name, None) is not None
    if self._has_own(name):
        self._remove(name)
    elif not found:
        object.__delattr__(self, name)


def _parameter_names(self):
    return [n for n, _ in self.named_parameters("", False)]


def _directory(self):
    return sorted({*object.__dir__(self), *self._names()})


def add_parameter(self, name, parameter):
    """Registers a parameter (None: left out) under a name."""
    self.__dict__.pop(name, None)
    if self._has_own(name):
        self._set_parameter(name, parameter)
    else:
        self._add_parameter(name, parameter, parameter is None or parameter.requires_grad or not isinstance(parameter, Parameter))
    return parameter


def add_sublayer(self, name, layer):
    """Registers a layer under a name, and gives it."""
    setattr(self, name, layer)
    return layer


def register_buffer(self, name, tensor, persistable=True, persistent=True):
    """Registers a tensor that is kept and saved, but not learned."""
    self._add_buffer(name, tensor, persistable and persistent)


def create_parameter(self, shape, attr=None, dtype="float32", is_bias=False, default_initializer=None):
    """A new parameter, by an initialiser; set it as an attribute to register it."""
    if attr is False:
        return None
    first = getattr(attr, "initializer", None) or default_initializer
    first = first or (initializer.Constant(0.0) if is_bias else initializer.XavierNormal())
    return Parameter(first(tuple(shape), dtype), getattr(attr, "trainable", True))


def to(self, device=None, dtype=None, blocking=None):
    """Moves or converts all parameters and buffers; only floating ones change dtype. Gives the layer."""
    for value in (device, dtype):
        if value is None:
            continue
        try:
            is_dtype = value is dtype or not isinstance(value, (str, _core.Device)) or (isinstance(value, str) and bool(_core.as_dtype(value)))
        except TypeError:
            is_dtype = False
        self._to_dtype(value) if is_dtype else self._to_device(value)
    return self


def _cast(name):
    def method(self):
        return self.to(dtype=name)
    method.__doc__ = f"All floating parameters and buffers as {name}."
    return method


def load_state_dict(self, state, strict=True):
    """As set_state_dict."""
    return self.set_state_dict(state, strict)


def requires_grad_(self, on=True):
    """Whether the parameters learn."""
    self.set_stop_gradient(not on)
    return self


for _f in (add_parameter, add_sublayer, register_buffer, create_parameter, to, load_state_dict, requires_grad_, _parameter_names):
    setattr(Layer, _f.__name__, _f)
del add_parameter, add_sublayer, register_buffer, create_parameter, to, load_state_dict, requires_grad_
Layer.__setattr__, Layer.__getattr__, Layer.__delattr__, Layer.__dir__ = _set, _get, _delete, _directory
Layer.register_parameter, Layer.add_module = Layer.add_parameter, Layer.add_sublayer
Layer.float, Layer.double, Layer.half, Layer.bfloat16 = _cast("float32"), _cast("float64"), _cast("float16"), _cast("bfloat16")
Layer.modules = lambda self: [self, *self.sublayers()]
Layer.named_modules = lambda self: [("", self), *self.named_sublayers()]
Layer.zero_grad = Layer.clear_gradients
Layer.register_forward_hook = Layer.register_forward_post_hook
Layer.cpu = lambda self: self.to("cpu")
Layer.__doc__ += """

>>> layer = oarlock.nn.Linear(2, 3)
>>> [p.shape for p in layer.parameters()]
[(3, 2), (3,)]
"""

Module = Layer
ModuleList, ModuleDict = LayerList, LayerDict  # noqa: F405
for _theirs, _ours in (("1d", "1D"), ("2d", "2D"), ("3d", "3D")):
    for _kind in ("Conv", "MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "BatchNorm", "InstanceNorm", "Dropout"):
        if hasattr(_layers, _kind + _ours):
            globals()[_kind + _theirs] = getattr(_layers, _kind + _ours)
    if hasattr(_layers, f"Conv{_ours}Transpose"):
        globals()["ConvTranspose" + _theirs] = getattr(_layers, f"Conv{_ours}Transpose")


def parameters_to_vector(parameters):
    """The parameters' elements one after another.

    >>> oarlock.nn.parameters_to_vector(oarlock.nn.Linear(2, 3).parameters()).shape
    (9,)
    """
    return _core.concat([p.reshape((-1,)) for p in parameters])
