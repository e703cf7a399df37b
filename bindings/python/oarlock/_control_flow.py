"""Control flow that depends on values, in functions that may be captured. What they call takes and gives any structures."""

from . import _core
from ._core import Tensor
from ._structure import _flatten, _key, _leaf, _restore


def _tensors(who, name, value):
    """The tensors of a structure that holds nothing else, and the structure."""
    tensors = []
    structure = _flatten(value, tensors)

    def check(part):
        if isinstance(part, (list, tuple)):
            for p in part:
                check(p)
        elif isinstance(part, dict):
            for p in part.values():
                check(p)
        elif hasattr(part, "fields"):
            check(part.fields)
        elif part is not None and part is not _leaf:
            raise TypeError(f"{who}: {name} holds {part!r}, which is no tensor, so it could not change. Give "
                            f"oarlock.tensor({part!r}).")

    check(structure)
    return tensors, structure


def _same(who, first, a, second, b):
    if _key(a) != _key(b):
        raise TypeError(f"{who}: the structures disagree: {first} {a!r}, {second} {b!r} (* is a tensor). "
                        f"Give the same from both; what differs has to be a tensor.")


def cond(pred, true_fn, false_fn):
    """true_fn() if pred, a tensor of one bool, holds, else false_fn(). paddle.static.nn.cond.

    Called eagerly, only that one is called. In a captured function both are called, once, and the program takes one at each
    run; they must give the same structure, of tensors of the same dtypes and shapes, and neither write to tensors they did not
    make nor draw random numbers. Gradients flow through the branch that was taken.

    >>> @oarlock.jit.to_static
    ... def magnitude(x):
    ...     return oarlock.jit.cond(x.sum() > 0, lambda: x, lambda: -x)
    >>> magnitude(oarlock.tensor([-1.0, -2.0])).tolist()
    [1.0, 2.0]
    """
    if not isinstance(pred, Tensor):
        raise TypeError(f"cond: pred is {pred!r}, no tensor. Give a tensor of one bool.")
    given = []

    def branch(function):
        def call(_):
            flat = []
            given.append(_flatten(function(), flat))
            if len(given) == 2:
                _same("cond", "true_fn gives", given[0], "false_fn", given[1])
            return flat
        return call

    flat = _core._jit.cond(pred, branch(true_fn), branch(false_fn))
    return _restore(given[0], iter(flat))


def while_loop(cond_fn, body_fn, loop_vars):
    """loop_vars = body_fn(*loop_vars) while cond_fn(*loop_vars), a tensor of one bool, holds; gives them as a list.
    paddle.static.nn.while_loop.

    Variables keep their structure, dtypes and shapes. A captured loop has no gradient, since nobody knows how much of it to
    keep: use scan there. What functions must not do in captured ones is as for cond.

    >>> x, n = oarlock.jit.while_loop(lambda x, n: x < 100, lambda x, n: (x * 3, n + 1),
    ...                               [oarlock.tensor(1.0), oarlock.tensor(0)])
    >>> x.item(), n.item()
    (243.0, 5)
    """
    loop_vars = tuple(loop_vars)
    tensors, structure = _tensors("while_loop", "loop_vars", loop_vars)

    def condition(flat):
        holds = cond_fn(*_restore(structure, iter(flat)))
        if not isinstance(holds, Tensor):
            raise TypeError(f"while_loop: cond_fn gives {holds!r}, no tensor. Give a tensor of one bool.")
        return [holds]

    def body(flat):
        out = body_fn(*_restore(structure, iter(flat)))
        if len(loop_vars) == 1 and not (isinstance(out, (list, tuple)) and len(out) == 1):
            out = (out,)
        after = []
        _same("while_loop", "loop_vars are", structure, "body_fn gives", _flatten(tuple(out), after))
        return after

    return list(_restore(structure, iter(_core._jit.while_loop(condition, body, tensors))))


def scan(f, init, xs=None, *, length=None, reverse=False):
    """(carry, y) = f(carry, x) for each row x of xs along axis 0, beginning with init; gives the last carry and the ys, stacked
    along a new axis 0. jax.lax.scan.

    init, xs and what f gives are tensors or structures of them; xs may be None if length says how many rounds there are. What
    is carried keeps its structure, dtypes and shapes. reverse: from the last row to the first; ys lie as xs do. Gradients flow
    through; those of a captured scan compute each row a second time instead of keeping what f made. What f must not do in
    captured functions is as for cond; random numbers for all rows can be drawn before and be one of xs.

    >>> total, sums = oarlock.jit.scan(lambda c, x: (c + x, c + x), oarlock.tensor(0.0), oarlock.tensor([1.0, 2.0, 3.0]))
    >>> total.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    carry, carry_structure = _tensors("scan", "init", init)
    rows, rows_structure = _tensors("scan", "xs", xs)
    given = []

    def call(carry_flat, row_flat):
        out = f(_restore(carry_structure, iter(carry_flat)), _restore(rows_structure, iter(row_flat)))
        if not (isinstance(out, tuple) and len(out) == 2):
            raise TypeError(f"scan: f gives {out!r}. Give a pair: what is carried on, and a row of results (or None).")
        after = []
        _same("scan", "init is", carry_structure, "f carries on", _flatten(out[0], after))
        ys, ys_structure = _tensors("scan", "a row of results", out[1])
        if given:
            _same("scan", "a row of results was", given[0], "now it is", ys_structure)
        else:
            given.append(ys_structure)
        return after, ys

    last, ys = _core._jit.scan(call, carry, rows, -1 if length is None else length, reverse)
    return _restore(carry_structure, iter(last)), _restore(given[0], iter(ys))
