"""Captured functions: called like the function, run as a program from the second call of a kind on."""

import functools
import inspect
import threading
import weakref

from . import _core
from ._control_flow import cond, scan, while_loop
from ._core import Tensor
from ._core._inference import ExportedProgram
from ._structure import _flatten, _key, _restore
from .nn import Layer

__all__ = ["ExportedProgram", "InputSpec", "StaticFunction", "capturing", "cond", "export", "load", "save", "scan", "to_static",
           "trace", "while_loop"]

capturing = _core._jit.capturing
ExportedProgram.__module__ = __name__


class _Size(int):
    """A size that is known only when the program runs; it counts and compares as far as that can be said."""

    def __repr__(self):
        return _core._jit.size_text(int(self))

    __str__ = __repr__

    def _unknown(self, what):
        raise TypeError(f"size {self!r} is known only when the program runs, so {what} can't be decided while it is "
                        f"captured. Give the input_spec a number there, or compute with tensors.")

    def __bool__(self):
        return True

    def __index__(self):
        return int.__index__(self)

    def __eq__(self, other):
        if isinstance(other, int) and int.__eq__(self, other):
            return True
        if isinstance(other, _Size):
            self._unknown(f"whether it is {other!r}")
        return False  # a symbol counts as no number in particular

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__

    def _order(self, other):
        self._unknown(f"how it compares with {other!r}")

    __lt__ = __le__ = __gt__ = __ge__ = _order

    def _combined(self, other, op, swapped=False):
        if not isinstance(other, int):
            return NotImplemented
        a, b = (int(other), int(self)) if swapped else (int(self), int(other))
        n = _core._jit.size_combine(a, b, op)
        return n if n >= 0 else _Size(n)

    def __add__(self, other):
        return self._combined(other, "+")

    def __radd__(self, other):
        return self._combined(other, "+", True)

    def __sub__(self, other):
        return self._combined(other, "-")

    def __rsub__(self, other):
        return self._combined(other, "-", True)

    def __mul__(self, other):
        return self._combined(other, "*")

    def __rmul__(self, other):
        return self._combined(other, "*", True)

    def __floordiv__(self, other):
        return self._combined(other, "/")

    def __rfloordiv__(self, other):
        return self._combined(other, "/", True)


_core._jit.set_size_type(_Size)


class InputSpec:
    """What an input of a program may be. shape: numbers; None or -1, any size; a name, any size but the same wherever
    the name stands.

    >>> oarlock.jit.InputSpec([None, 784], "float32", "image")
    InputSpec(shape=(None, 784), dtype=oarlock.float32, name='image')
    """

    def __init__(self, shape, dtype="float32", name=None):
        self.shape = tuple(None if s is None or s == -1 else s for s in shape)
        for s in self.shape:
            if not (s is None or isinstance(s, str) or (isinstance(s, int) and s >= 0)):
                raise ValueError(f"InputSpec: size {s!r} is no number, name or None.")
        self.dtype = _core.empty((0,), dtype=dtype).dtype
        self.name = name

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """Of exactly this tensor's shape and dtype."""
        return cls(tensor.shape, tensor.dtype, name)

    def __repr__(self):
        return f"InputSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def _plain(self):
        return self.shape, self.dtype, self.name or ""


def _layers_of(function):
    """Layers that a function can reach: its object, what it closes over, the globals it names."""
    found = []

    def look(value):
        if isinstance(value, Layer) and not any(value is other for other in found):
            found.append(value)

    look(getattr(function, "__self__", None))
    plain = getattr(function, "__func__", function)
    if hasattr(plain, "__wrapped__"):
        plain = inspect.unwrap(plain)
    for cell in getattr(plain, "__closure__", None) or ():
        try:
            look(cell.cell_contents)
        except ValueError:
            pass
    code = getattr(plain, "__code__", None)
    for name in getattr(code, "co_names", ()):
        look(getattr(plain, "__globals__", {}).get(name))
    return found


@functools.lru_cache
def _tensors_alone(count):
    """Structure and key of a call with so many tensors and nothing else."""
    structure = _flatten(((_core.empty(()),) * count, {}), [])
    return structure, _key(structure)


class StaticFunction:
    """A function whose calls are captured: see to_static."""

    def __init__(self, function, input_spec=None, name=None, max_programs=32, max_plans=64):
        if not callable(function):
            raise TypeError(f"to_static: {function!r} is no function.")
        functools.update_wrapper(self, function)
        self._function = function
        self._spec = None if input_spec is None else list(input_spec)
        self._name = name or getattr(function, "__name__", "main")
        self._limits = (max_programs, max_plans)
        self._given = threading.local()
        self._of_objects = weakref.WeakKeyDictionary()
        self.enabled = True
        self.clear()

    @property
    def function(self):
        """The function itself."""
        return self._function

    def _states(self):
        named, layers = [], _layers_of(self._function)
        for i, layer in enumerate(layers):
            prefix = "" if len(layers) == 1 else f"{type(layer).__name__.lower()}{i}."
            named += [(prefix + name, tensor) for name, tensor in layer.state_dict().items()]
        return named

    def _run(self, tensors):
        structure, key, results = self._given.call
        args, keywords = _restore(structure, iter(tensors))
        flat = []
        # With the arguments: objects that keys know by identity have to live as long as the keys.
        results[key] = _flatten(self._function(*args, **keywords), flat), structure
        return flat

    def _key(self, words, tensors):
        kinds = _core._jit.kinds(tensors, not self._spec)
        modes = "".join(map(_core._jit.modes, _layers_of(self._function)))
        return f"{words};{kinds}{modes};{_core.is_grad_enabled()}"

    def __call__(self, *args, **keywords):
        if not self.enabled or capturing():
            return self._function(*args, **keywords)
        if not keywords and all(type(a) is Tensor for a in args):  # most calls
            tensors, (structure, words) = list(args), _tensors_alone(len(args))
        else:
            tensors = []
            structure = _flatten((args, keywords), tensors)
            words = _key(structure)
        key = self._key(words, tensors)
        captured, results = self._both
        before = getattr(self._given, "call", None)
        self._given.call = structure, key, results
        try:
            flat = captured.call(tensors, key)
        finally:
            self._given.call = before
        if len(results) > 8 * self._limits[0] and results is self._both[1]:
            self.clear()  # what the library has let go of has its results here still
        return _restore(results[key][0], iter(flat))

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        bound = self._of_objects.get(instance)
        if bound is None:
            function = _Method(self._function, instance)
            bound = StaticFunction(function, self._spec, self._name, *self._limits)
            self._of_objects[instance] = bound
        return bound

    def programs(self):
        """What was captured, most recently used first: dicts with nodes, steps, arena_bytes, interpreted, ..."""
        return self._both[0].programs()

    def clear(self):
        """Forgets what was captured."""
        specs = [s._plain() for s in self._spec or ()]
        # Weak: what C++ holds is not seen by Python's collector.
        run, states = _Method(StaticFunction._run, self), _Method(StaticFunction._states, self)
        self._both = _core._jit.CapturedFunction(run, self._name, states, specs, *self._limits), {}


class _Method:
    """A method of an object that it does not keep alive."""

    def __init__(self, function, instance):
        functools.update_wrapper(self, function)
        self._instance = weakref.ref(instance)

    @property
    def __self__(self):
        return self._instance()

    @property
    def __func__(self):
        return self.__wrapped__

    def __call__(self, *args, **keywords):
        return self.__wrapped__(self._instance(), *args, **keywords)


def to_static(function=None, input_spec=None, *, name=None, max_programs=32, max_plans=64):
    """Captures calls of a function, a method or a layer, and runs them as programs. Decorator or call.

    The function runs once on stand-ins, which have a shape and a dtype but no elements, for each kind of call: dtypes and
    shapes of tensors, values of other arguments, training or evaluation of the layers it uses. Every op becomes part of the
    program; whatever else it does (printing, appending to lists) happens then only. A decision by a value (`if x.sum() > 0`)
    raises an error that says so: use cond, while_loop, scan or oarlock.where there. Parameters and buffers are read and written as in the function
    itself; gradients flow through, once. A whole training step can be captured, optimiser and all; its first call runs
    eagerly.

    function: with none, gives a decorator. Of a layer, its forward is replaced, and the layer is given back. input_spec: an
    InputSpec per tensor argument, in their order; names and None stand for any size, so that one program serves them all.
    max_programs, max_plans: how many kinds of calls, and shapes of each, are kept.

    >>> @oarlock.jit.to_static
    ... def norm(x):
    ...     return (x * x).sum().sqrt()
    >>> norm(oarlock.tensor([3.0, 4.0])).item()
    5.0
    >>> norm.programs()[0]["interpreted"]
    False
    """
    if function is None:
        return functools.partial(to_static, input_spec=input_spec, name=name, max_programs=max_programs,
                                 max_plans=max_plans)
    if isinstance(function, Layer):
        layer = function
        static = StaticFunction(_Method(type(layer).forward, layer), input_spec, name or type(layer).__name__,
                                max_programs, max_plans)
        layer.forward = static
        if not inspect.isfunction(inspect.unwrap(type(layer).forward)):  # one of the library's, called past Python
            layer._set_forward(static)
        return layer
    return StaticFunction(function, input_spec, name, max_programs, max_plans)


def trace(function, inputs, name=None):
    """Captures one call, and gives the function with its result: (result, captured). paddle.jit.TracedLayer.trace.

    >>> y, f = oarlock.jit.trace(lambda x: x + 1, [oarlock.tensor([1.0])])
    >>> f(y).tolist()
    [3.0]
    """
    captured = to_static(function, name=name)
    return captured(*inputs), captured


# ---- programs of their own ------------------------------------------------------------------------------------------
def export(function, input_spec=None, *, name=None, output_names=None):
    """What a layer, captured function or plain function computes in inference, as an ExportedProgram.

    The function is called once on stand-ins, without gradients and with its layers in evaluation mode; they are as before
    afterwards. input_spec: an InputSpec per tensor argument; left out, that of to_static. The weights are copied. Results
    may be tensors in tuples, lists and dicts; output_names: a name for each, else the keys of a dict, else out0, out1, ...

    >>> program = oarlock.jit.export(oarlock.nn.Linear(4, 2), [oarlock.jit.InputSpec(["N", 4], name="x")])
    >>> program.input_names, sorted(program.parameters())
    (['x'], ['bias', 'weight'])
    """
    static = function
    if isinstance(function, Layer):
        layers, static = [function], getattr(function, "forward", None)
        states = list(function.state_dict().items())
        name = name or type(function).__name__
    else:
        if not isinstance(function, StaticFunction):
            function = StaticFunction(function)
        layers, states = _layers_of(function.function), function._states()
        static, name = function, name or function._name
    if input_spec is None:
        input_spec = static._spec if isinstance(static, StaticFunction) else None
    if input_spec is None:
        raise ValueError(f"export: what {name} takes is not known. Give input_spec, an InputSpec per tensor argument.")

    names = [] if output_names is None else list(output_names)

    def run(tensors):
        result, flat = function(*tensors), []
        _flatten(result, flat)
        if output_names is None and isinstance(result, dict) and len(flat) == len(result):
            names.extend(map(str, result))
        return flat

    specs = [s._plain() for s in input_spec]
    modes = [(layer, layer.training) for top in layers for layer in [top, *top.sublayers()]]
    try:
        for layer in layers:
            layer.eval()
        return _core._jit.export(run, specs, name, names, states)
    finally:
        for layer, mode in modes:
            layer.train(mode)


def save(function, path, input_spec=None, *, name=None, output_names=None):
    """Writes path.oarp, the program, and path.safetensors, its weights: see export, whose arguments it takes.

    function: or an ExportedProgram. The files hold no code; oarlock.jit.load, oarlock.inference, and C and C++ programs read
    them. Each file is replaced as a whole, the weights first.
    """
    program = function
    if not isinstance(program, ExportedProgram):
        program = export(function, input_spec, name=name, output_names=output_names)
    program.save(str(path))


def load(path, weights_path=None):
    """The ExportedProgram that save wrote; run it with oarlock.inference.

    weights_path: another safetensors file with the same names, dtypes and shapes. Raises ValueError or OSError with the
    file and the place for what is missing, damaged, or of another program.
    """
    return _core._jit.load(str(path), "" if weights_path is None else str(weights_path))
