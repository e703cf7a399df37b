"""Captured functions: as the functions themselves, for layers written in Python and in the library, and whole steps."""

import gc
import weakref

import oarlock
import pytest
from oarlock import jit, nn, optim


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(1, 4, 3)
        self.norm = nn.BatchNorm2D(4)
        self.out = nn.Linear(144, 5)

    def forward(self, x, scale=1.0):
        h = oarlock.relu(self.norm(self.conv(x)))
        return self.out(h.reshape(h.shape[0], -1)) * scale


def twins(make):
    nets = []
    for _ in range(2):
        oarlock.set_seed(5)
        nets.append(make())
    return nets


@pytest.mark.parametrize("make", [Net, lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.ReLU(), nn.Linear(6, 5))])
def test_a_layer_trains_as_itself(make):
    eager, captured = twins(make)
    assert jit.to_static(captured) is captured
    for step in range(3):
        x = oarlock.rand(3, 1, 8, 8)
        want, got = eager(x), captured(x)
        assert got.tolist() == want.tolist()
        want.sum().backward()
        got.sum().backward()
        for a, b in zip(captured.parameters(), eager.parameters()):
            assert a.grad.tolist() == b.grad.tolist()
        assert [b.tolist() for b in captured.buffers()] == [b.tolist() for b in eager.buffers()]
    eager.eval(), captured.eval()
    assert captured(x).tolist() == eager(x).tolist()
    assert len(captured.forward.programs()) == 2, "a program for each mode"
    assert not captured.forward.programs()[0]["interpreted"]


def test_arguments_that_are_no_tensors_are_part_of_the_kind():
    net = jit.to_static(Net())
    net.eval()
    x = oarlock.rand(2, 1, 8, 8)
    assert (net(x, scale=2.0) - net(x) * 2).abs().max().item() < 1e-6
    assert len(net.forward.programs()) == 2


def test_a_whole_step():
    eager, captured = twins(Net)

    def step_of(net, optimizer):
        def step(x, labels):
            loss = nn.CrossEntropyLoss()(net(x), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss.detach()
        return step
    plain = step_of(eager, optim.AdamW(eager.parameters()))
    static = jit.to_static(step_of(captured, optim.AdamW(captured.parameters())))
    labels = oarlock.tensor([0, 1, 2])
    for _ in range(4):
        x = oarlock.rand(3, 1, 8, 8)
        assert static(x, labels).item() == plain(x, labels).item()
    assert len(static.programs()) == 1
    assert [p.tolist() for p in captured.parameters()] == [p.tolist() for p in eager.parameters()]


def test_named_sizes():
    seen = []

    @jit.to_static(input_spec=[jit.InputSpec(["N", 4], name="x")])
    def f(x):
        seen.append(x.shape)
        assert repr(x.shape[0]) == "N" and repr(x.shape[0] * 4) == "4*N" and x.shape[0] * 4 // 4 == x.shape[0]
        with pytest.raises(TypeError, match="size N is known only when the program runs"):
            x.shape[0] > 3
        return {"flat": x.reshape(x.shape[0] * 4), "more": (x + 1, "kept")}
    for n in (1, 2, 5):
        x = oarlock.rand(n, 4)
        out = f(x)
        assert out["flat"].tolist() == x.reshape(-1).tolist()
        assert out["more"][0].tolist() == (x + 1).tolist() and out["more"][1] == "kept"
    assert len(seen) == 1
    with pytest.raises(oarlock.InvalidArgument, match="axis 1 disagrees"):
        f(oarlock.rand(2, 5))
    with pytest.raises(oarlock.InvalidArgument, match="input_spec says"):
        f(oarlock.ones(2, 4, dtype="int64"))


def test_a_decision_by_value_is_an_error():
    f = jit.to_static(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(oarlock.InvalidArgument, match="is being captured"):
        f(oarlock.ones(2))
    assert not jit.capturing()


def test_methods_of_objects():
    class Scale:
        def __init__(self, by):
            self.by = oarlock.tensor([by, by])

        @jit.to_static
        def __call__(self, x):
            return x * self.by
    two, three = Scale(2.0), Scale(3.0)
    x = oarlock.tensor([1.0, 2.0])
    for _ in range(2):
        assert two(x).tolist() == [2.0, 4.0] and three(x).tolist() == [3.0, 6.0]


def test_results_belong_to_their_kind_of_call():
    f = jit.to_static(lambda x, object=None: {"n": x.shape[0], "y": x + 1})
    for n in (2, 3, 2, 3):
        assert f(oarlock.ones(n))["n"] == n
    # Objects are told apart by identity: a new one in an old one's place is another kind.
    seen = []

    class Offset:
        def __init__(self, by):
            self.by = by
    g = jit.to_static(lambda x, offset: seen.append(offset.by) or x + offset.by)
    for by in range(20):
        assert g(oarlock.zeros(1), Offset(float(by))).item() == by
    assert seen == [float(by) for by in range(20)]


def test_many_kinds_stay_bounded():
    f = jit.to_static(lambda x, n: (x + n, n), max_programs=2)
    x = oarlock.zeros(1)
    for n in range(100):
        y, same = f(x, n)
        assert y.item() == n and same == n
    assert len(f.programs()) <= 2 and len(f._both[1]) <= 17


def test_nothing_keeps_a_captured_function_alive():
    class Thing:
        pass
    thing = Thing()
    f = jit.to_static(lambda x: (x + 1, thing)[0])
    f(oarlock.ones(2))
    gone = weakref.ref(thing)
    del f, thing
    gc.collect()
    assert gone() is None
