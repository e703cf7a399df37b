"""cond, while_loop and scan: called, captured, with gradients, in structures, and what they refuse."""

import oarlock
import pytest
from oarlock import jit, nn


def both(function, *inputs, grad=True):
    """What a function gives and the gradients of its float inputs, called and captured."""
    outcomes = []
    for f in (function, jit.to_static(function)):
        mine = [x.clone() for x in inputs]
        for x in mine:
            x.requires_grad = grad and "float" in str(x.dtype)
        out = f(*mine)
        flat = out if isinstance(out, (list, tuple)) else [out]
        if grad:
            sum(t.sum() for t in flat if t.requires_grad).backward()
        outcomes.append(([t.tolist() for t in flat], [None if x.grad is None else x.grad.tolist() for x in mine]))
    return outcomes


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond(sign):
    def f(x, w):
        return jit.cond((x * sign).sum() > 0, lambda: (x * w, {"a": x}), lambda: (x - w, {"a": w}))[0]

    called, captured = both(f, oarlock.tensor([1.0, 2.0]), oarlock.tensor([3.0, 4.0]))
    assert captured == called
    assert called[0] == [[3.0, 8.0]] if sign > 0 else called[0] == [[-2.0, -2.0]]


def test_a_branch_that_is_not_taken_is_not_called():
    assert jit.cond(oarlock.tensor(True), lambda: oarlock.tensor(1), lambda: 1 / 0).item() == 1


def test_functions_are_those_of_their_round():
    """Python's closures read a variable as it is when they run: gradients must not call them again."""

    def f(x):
        h = x
        for _ in range(3):
            h = jit.cond(x.sum() > 0, lambda: h * h, lambda: h)
        return h

    called, captured = both(f, oarlock.tensor([1.5, 2.0]))
    assert captured == called
    assert called[1][0] == [8 * 1.5**7, 8 * 2.0**7]


def test_while_loop():
    def f(x):
        return jit.while_loop(lambda v: v["x"].sum() < 100, lambda v: {"x": v["x"] * 2, "n": v["n"] + 1},
                              [{"x": x, "n": oarlock.tensor(0)}])[0]["x"]

    for start in ([1.0, 2.0], [200.0, 1.0]):
        with oarlock.no_grad():
            called, captured = both(f, oarlock.tensor(start), grad=False)
        assert captured == called
    x = oarlock.tensor([1.0, 2.0], requires_grad=True)
    f(x).sum().backward()
    assert x.grad.tolist() == [64.0, 64.0]
    with pytest.raises(oarlock.Error, match="Use scan"):
        jit.to_static(f)(x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_scan(reverse, rows):
    def f(h, xs, w):
        def step(carry, row):
            nxt = carry["h"] * w + row[0]
            return {"h": nxt, "n": carry["n"] + 1}, (nxt, row[0] * 2)

        last, (hs, twice) = jit.scan(step, {"h": h, "n": oarlock.tensor(0)}, [xs], reverse=reverse)
        return last["h"], hs, twice, last["n"]

    h, xs = oarlock.tensor([1.0, 2.0]), oarlock.arange(2 * rows, dtype="float32").reshape(rows, 2)
    called, captured = both(f, h, xs, oarlock.tensor([0.5, 0.25]))
    assert captured[0] == called[0]
    assert called[0][3] == rows and len(called[0][1]) == rows
    if rows:
        assert captured[1] == called[1]
    want, state = [], [1.0, 2.0]
    for k in reversed(range(rows)) if reverse else range(rows):
        state = [s * w + x for s, w, x in zip(state, [0.5, 0.25], [2.0 * k, 2.0 * k + 1])]
        want.append(state)
    assert called[0][1] == (want[::-1] if reverse else want) and called[0][0] == state


def test_a_recurrent_layer_trains_captured_as_called():
    class Recurrent(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.Linear(5, 3), nn.Linear(3, 2)

        def forward(self, x):
            def step(h, row):
                return oarlock.tanh(self.cell(oarlock.concat([row, h], 1))), None

            h, _ = jit.scan(step, oarlock.zeros(x.shape[0], 3), x.permute(1, 0, 2))
            return self.out(h)

    nets = []
    for _ in range(2):
        oarlock.set_seed(5)
        nets.append(Recurrent())
    jit.to_static(nets[1], [jit.InputSpec([None, 4, 2])])
    for batch in (3, 6):
        x = oarlock.rand(batch, 4, 2)
        want, got = nets[0](x), nets[1](x)
        assert got.tolist() == want.tolist()
        for y in want, got:
            (y * y).sum().backward()
        for a, b in zip(nets[1].parameters(), nets[0].parameters()):
            assert (a.grad - b.grad).abs().max().item() < 1e-5
    assert len(nets[1].forward.programs()) == 1


def test_what_is_no_tensor_is_refused():
    x = oarlock.tensor([1.0])
    with pytest.raises(TypeError, match="pred is True, no tensor"):
        jit.cond(True, lambda: x, lambda: x)
    with pytest.raises(oarlock.Error, match="the condition is f32.1., not one bool"):
        jit.cond(x, lambda: x, lambda: x)
    with pytest.raises(TypeError, match="loop_vars holds 0, which is no tensor"):
        jit.while_loop(lambda n: x.sum() > 0, lambda n: n, [0])
    with pytest.raises(TypeError, match="cond_fn gives True"):
        jit.while_loop(lambda n: True, lambda n: n, [x])
    with pytest.raises(TypeError, match="f gives .*Give a pair"):
        jit.scan(lambda c, row: c, x, x)
    with pytest.raises(TypeError, match="init is .*f carries on"):
        jit.scan(lambda c, row: ([c], None), x, x)


@pytest.mark.parametrize("other, text", [(lambda x: {"a": x}, "the structures disagree"), (lambda x: x.sum(), "true_fn gives f32.2., false_fn f32.."),
                                         (lambda x: x.to("int32"), "false_fn i32.2."), (lambda x: oarlock.rand(2), "a random draw")])
def test_branches_agree(other, text):
    f = jit.to_static(lambda x: jit.cond(x.sum() > 0, lambda: x, lambda: other(x)))
    with pytest.raises((TypeError, oarlock.Error), match=text):
        f(oarlock.tensor([1.0, 2.0]))


def test_errors_of_functions_come_out_unchanged():
    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine

    x = oarlock.tensor([1.0])
    for wrap in (lambda f: f, jit.to_static):
        with pytest.raises(Mine):
            wrap(lambda x: jit.cond(x.sum() > 0, fail, fail))(x)
        with pytest.raises(Mine):
            wrap(lambda x: jit.scan(fail, x, x)[0])(x)
        with pytest.raises(ValueError, match="negative size"):  # raised in C
            wrap(lambda x: jit.scan(lambda c, row: (oarlock.full((-1,), 0.0), None), x, x)[0])(x)
