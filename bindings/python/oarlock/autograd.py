"""Gradients: recording, backward, functions with a gradient of their own, hooks."""

import functools
import inspect

from . import _core
from ._core import Tensor, is_grad_enabled

__all__ = ["Function", "anomaly_mode", "backward", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]


class _Mode:
    """A context manager and a decorator that sets whether this thread records."""

    _on = False

    def __init__(self):
        self._scopes = []

    def __enter__(self):
        scope = _core.GradScope(self._on)
        scope.enter()
        self._scopes.append(scope)
        return self

    def __exit__(self, *error):
        self._scopes.pop().leave()
        return False

    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__}: a class is no function. Decorate its methods.")
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args, **keywords):
                inner = function(*args, **keywords)
                value = None
                while True:
                    with type(self)._again(self):
                        try:
                            given = inner.send(value)
                        except StopIteration as end:
                            return end.value
                    value = yield given
            return generator

        @functools.wraps(function)
        def wrapped(*args, **keywords):
            with type(self)._again(self):
                return function(*args, **keywords)
        return wrapped

    @classmethod
    def _again(cls, mode):
        return cls()


class no_grad(_Mode):
    """Nothing that this thread computes inside is recorded. Context manager and decorator.

    >>> x = oarlock.tensor([1.0], requires_grad=True)
    >>> with oarlock.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __new__(cls, function=None):
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()
        return made(function)  # @no_grad without parentheses

    def __init__(self, function=None):
        super().__init__()


class enable_grad(_Mode):
    """Records again inside a no_grad.

    >>> x = oarlock.tensor([1.0], requires_grad=True)
    >>> with oarlock.no_grad(), oarlock.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    _on = True


class set_grad_enabled(_Mode):
    """no_grad or enable_grad, by a flag."""

    def __init__(self, mode):
        super().__init__()
        self._on = bool(mode)

    @classmethod
    def _again(cls, mode):
        return cls(mode._on)


def _listed(tensors, what):
    if isinstance(tensors, Tensor):
        return [tensors]
    listed = list(tensors)
    for t in listed:
        if not isinstance(t, Tensor):
            raise TypeError(f"{what}: a {type(t).__name__} is no tensor. Give a tensor or a list of tensors.")
    return listed


def _seeds(seeds, outputs, what):
    if seeds is None:
        return []
    if isinstance(seeds, Tensor):
        seeds = [seeds]
    seeds = list(seeds)
    if len(seeds) != len(outputs):
        raise ValueError(f"{what}: {len(outputs)} outputs, {len(seeds)} seeds. Give one seed for each output.")
    return [_core.ones_like_of(o) if s is None else s for s, o in zip(seeds, outputs)]


def backward(tensors, grad_tensors=None, retain_graph=False, create_graph=False):
    """Adds the gradients of the sum of tensors to .grad of every leaf that they were computed from.

    grad_tensors: what each output's gradient is; without, each must have one element, of gradient 1.
    retain_graph: keeps the record for another backward. create_graph: records the gradients' own computation.

    >>> x = oarlock.tensor([3.0], requires_grad=True)
    >>> oarlock.autograd.backward([x * x])
    >>> x.grad.tolist()
    [6.0]
    """
    outputs = _listed(tensors, "backward")
    _core.backward_of(outputs, _seeds(grad_tensors, outputs, "backward"), bool(retain_graph or create_graph), bool(create_graph))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of outputs with respect to inputs, a tuple; .grad stays as it is.

    An input that outputs do not depend on is an error, or None with allow_unused.

    >>> x = oarlock.tensor([3.0], requires_grad=True)
    >>> oarlock.grad(x * x * x, x)[0].tolist()
    [27.0]
    """
    outs, ins = _listed(outputs, "grad"), _listed(inputs, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    found = _core.gradients_of(outs, ins, _seeds(grad_outputs, outs, "grad"), bool(keep), bool(create_graph))
    for i, g in enumerate(found):
        if g is None and not allow_unused:
            raise ValueError(f"grad: no output depends on input {i}. Leave it out, or pass allow_unused=True.")
    return tuple(found)


class Context:
    """What forward and backward of one call share."""

    def __init__(self, inner):
        self._inner = inner
        self._saved = ()

    def save_for_backward(self, *tensors):
        """In forward: what backward will read, inputs, outputs or others."""
        self._inner.save([t for t in tensors if t is not None])
        self._places = [t is not None for t in tensors]

    @property
    def saved_tensors(self):
        """In backward: the tensors saved, in their order."""
        saved = iter(self._inner.saved())
        return tuple(next(saved) if there else None for there in getattr(self, "_places", ()))

    saved_tensor = saved_tensors

    @property
    def needs_input_grad(self):
        """In backward: for each argument of forward, whether its gradient is wanted."""
        return tuple(place is not None and self._inner.wants(place) for place in self._inputs)

    def mark_non_differentiable(self, *tensors):
        """In forward: these outputs have no gradient."""
        for t in tensors:
            self._inner.mark_non_differentiable(t)


class Function:
    """An operation with a gradient written by hand.

    Subclasses define two static methods: forward(ctx, *args), which returns a tensor or several, and backward(ctx, *grads),
    which takes a gradient for each output and returns one for each argument of forward (None where there is none).

    >>> class Cube(oarlock.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 3 * x * x
    >>> x = oarlock.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).sum().backward()
    >>> x.grad.tolist()
    [12.0]
    """

    @staticmethod
    def forward(ctx, *args, **keywords):
        raise NotImplementedError("Function: the subclass has no forward. Define it as a static method.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("Function: the subclass has no backward. Define it as a static method.")

    @classmethod
    def apply(cls, *args, **keywords):
        """Calls forward; what it gives remembers backward."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        places, shape, held = [], [None], [None]
        for a in args:
            places.append(sum(p is not None for p in places) if isinstance(a, Tensor) else None)

        def forward(inner, inputs):
            context = held[0] = Context(inner)
            context._inputs = places
            given = iter(inputs)
            out = cls.forward(context, *[next(given) if p is not None else a for a, p in zip(args, places)], **keywords)
            single = isinstance(out, Tensor)
            outs = (out,) if single else tuple(out)
            for i, t in enumerate(outs):
                if not isinstance(t, Tensor):
                    raise TypeError(f"{cls.__name__}.forward: output {i} is a {type(t).__name__}. Return tensors.")
            shape[0] = single if single else type(out)
            return list(outs)

        def backward(inner, grads):
            context = held[0]
            context._inner = inner
            given = cls.backward(context, *grads)
            given = (given,) if given is None or isinstance(given, Tensor) else tuple(given)
            if len(given) != len(places):
                raise ValueError(f"{cls.__name__}.backward: returned {len(given)} gradients, forward has {len(places)} arguments. "
                                 "Return one for each, None where there is none.")
            for i, (g, p) in enumerate(zip(given, places)):
                if g is not None and not isinstance(g, Tensor):
                    raise TypeError(f"{cls.__name__}.backward: gradient {i} is a {type(g).__name__}. Return tensors or None.")
                if g is not None and p is None:
                    raise ValueError(f"{cls.__name__}.backward: argument {i} is no tensor, but has a gradient. Return None for it.")
            return [g for g, p in zip(given, places) if p is not None]

        outs = _core.apply_function(cls.__name__, forward, backward, tensors)
        return outs[0] if shape[0] is True else tuple(outs)


class anomaly_mode:
    """While inside, the first op or gradient that makes a NaN of numbers that are none is an error that names it. Slow.

    >>> with oarlock.autograd.anomaly_mode():
    ...     try:
    ...         oarlock.log(oarlock.tensor([-1.0]))
    ...     except oarlock.Error as e:
    ...         print("log" in str(e))
    True
    """

    def __init__(self, mode=True):
        self._on, self._scope = bool(mode), None

    def __enter__(self):
        self._scope = _core.AnomalyScope(self._on)
        return self

    def __exit__(self, *error):
        self._scope.leave()
        return False


detect_anomaly = anomaly_mode
