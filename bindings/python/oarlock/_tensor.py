"""Methods of tensors that are written in Python; the type itself and its hot paths are in the extension."""

from . import _core
from .autograd import backward as _backward

_PLAIN = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128"}


def numpy(self):
    """A NumPy array on the same memory; a copy where the tensor is not on the host.

    Of a tensor that requires a gradient the array is read-only: a write would go unnoticed by the record.
    bfloat16 and the 8-bit floats need the package ml_dtypes.
    """
    import numpy as np

    t = self
    if not t.device.is_host:
        t = t.detach().cpu()
    name = t.dtype.name
    if name in _PLAIN:
        return np.asarray(memoryview(t))
    if t.dtype.bits >= 8:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"numpy: NumPy has no {name}. Install ml_dtypes, or cast: x.to(oarlock.float32).numpy().") from None
        return np.asarray(memoryview(_core.words_of(t))).view(getattr(ml_dtypes, name))
    raise TypeError(f"numpy: NumPy has no {name}. Cast: x.to(oarlock.int8).numpy().")


def __array__(self, dtype=None, copy=None):
    import numpy as np

    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: copy is False, but {dtype} wants a copy. Leave copy out.")
        return array.astype(dtype)
    if copy is False and not self.device.is_host:
        raise ValueError(f"__array__: copy is False, but the tensor is on {self.device}. Leave copy out.")
    return np.array(array) if copy else array


def backward(self, gradient=None, retain_graph=False, create_graph=False):
    """Adds the gradient of this tensor to .grad of every leaf it was computed from. gradient: its own, needed unless it has
    one element."""
    _backward([self], None if gradient is None else [gradient], retain_graph, create_graph)


class HookHandle:
    """Takes a hook off again by remove()."""

    def __init__(self, tensor, number):
        self._tensor, self._number = tensor, number

    def remove(self):
        if self._tensor is not None:
            _core.remove_grad_hook(self._tensor, self._number)
            self._tensor = None


def register_hook(self, hook):
    """Calls hook(gradient) whenever backward has this tensor's gradient; what it returns, if not None, is used instead."""
    return HookHandle(self, _core.add_grad_hook(self, hook))


def retain_grad(self):
    """From now on backward leaves the gradient of this computed tensor in its .grad."""
    _core.retain_grad(self)


def zero_grad(self):
    """Drops the gradient."""
    self.grad = None


def __reduce_ex__(self, protocol):
    t = self.detach()
    host = t.cpu().contiguous()
    data = bytes(memoryview(host if t.dtype.name in _PLAIN else _core.words_of(host)).cast("B")) if host.size else b""
    return _rebuilt, (data, tuple(t.shape), t.dtype.name, str(t.device), self.requires_grad and self.is_leaf)


def _rebuilt(data, shape, dtype, device, requires_grad):
    t = _core.from_bytes(data, shape, getattr(_core, dtype))
    if device != "cpu":
        t = t.to(device)
    return t.requires_grad_() if requires_grad else t


def __format__(self, spec):
    return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)


def __contains__(self, value):
    import numpy as np

    return bool(np.any(numpy((self == value).detach().cpu())))


def __array_namespace__(self, *, api_version=None):
    import oarlock
    return oarlock


def _from_namespace(name):
    def method(self, *args, **keywords):
        from . import _namespace
        return getattr(_namespace, name)(self, *args, **keywords)
    method.__name__ = name
    method.__doc__ = f"As oarlock.{name}(x, ...)."
    return method


def view(self, *shape):
    """As reshape."""
    return self.reshape(*shape)


def install(cls):
    for f in (numpy, __array__, backward, register_hook, retain_grad, zero_grad, __reduce_ex__, __format__, __contains__,
              __array_namespace__, view):
        setattr(cls, f.__name__, f)
    for name in ("broadcast_to", "expand_dims", "pow", "prod", "roll", "split", "swapaxes", "transpose"):
        if name not in cls.__dict__:
            setattr(cls, name, _from_namespace(name))
    cls.clear_grad = zero_grad
    cls.clear_gradient = zero_grad
    cls.view_as = lambda self, other: self.reshape(other.shape)


install(_core.Tensor)
