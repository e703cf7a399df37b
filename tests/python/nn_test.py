"""Layers: built-in, derived, written in Python, and mixed."""

import copy
import gc
import threading
import weakref

import numpy as np
import oarlock
import pytest
from oarlock import nn, optim


class Scale(nn.Layer):
    def __init__(self, n, factor=2.0):
        super().__init__()
        self.weight = nn.Parameter(oarlock.full((n,), factor))
        self.note = "a plain attribute"

    def forward(self, x, twice=False):
        y = x * self.weight
        return y * 2 if twice else y


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.scale = Scale(3)
        self.layers = nn.LayerList([nn.Linear(3, 3), Scale(3)])
        self.register_buffer("count", oarlock.zeros(1))

    def forward(self, x):
        x = self.scale(oarlock.relu(self.fc1(x)))
        for layer in self.layers:
            x = layer(x)
        return x


def test_attributes_are_registered_under_torch_names():
    net = Net()
    assert list(net.state_dict()) == ["count", "fc1.weight", "fc1.bias", "scale.weight", "layers.0.weight", "layers.0.bias",
                                      "layers.1.weight"] or set(net.state_dict()) == {
        "count", "fc1.weight", "fc1.bias", "scale.weight", "layers.0.weight", "layers.0.bias", "layers.1.weight"}
    assert [n for n, _ in net.named_children()] == ["fc1", "scale", "layers"]
    assert net.scale.weight is net.scale.weight and isinstance(net.scale, Scale) and net.scale.note == "a plain attribute"
    assert len(net.parameters()) == 6 and all(p.requires_grad for p in net.parameters())
    assert "fc1" in dir(net) and "scale" in repr(net) and "Linear" in repr(net) and "Scale" in repr(net)
    with pytest.raises(AttributeError):
        net.nothing
    del net.scale
    assert "scale.weight" not in net.state_dict() and not hasattr(net, "scale")


def test_linear_is_what_numpy_computes():
    layer = nn.Linear(4, 3)
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    np.testing.assert_allclose(layer(oarlock.asarray(x)).numpy(), x @ layer.weight.numpy().T + layer.bias.numpy(), rtol=1e-5, atol=1e-6)
    assert layer.weight.shape == (3, 4) and nn.Linear(4, 3, bias_attr=False).bias is None and nn.Linear(4, 3, bias=False).bias is None
    const = nn.Linear(2, 2, weight_attr=nn.initializer.Constant(3.0), bias_attr=nn.ParamAttr(initializer=nn.initializer.Constant(1.0), trainable=False))
    assert const.weight.tolist() == [[3, 3], [3, 3]] and const.bias.tolist() == [1, 1] and not const.bias.requires_grad


def test_gradients_flow_through_python_and_built_in_layers():
    net, x = Net(), oarlock.ones((2, 4))
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.clear_gradients()
    assert all(p.grad is None for p in net.parameters())


def test_python_layers_inside_built_in_containers():
    scale = Scale(3)
    seq = nn.Sequential(nn.Linear(4, 3), scale, nn.Sequential(Scale(3, 3.0)))
    assert seq[1] is scale and seq[-1][0].weight.tolist() == [3, 3, 3] and len(seq) == 3
    x = oarlock.ones((2, 4))
    np.testing.assert_allclose(seq(x).numpy(), (seq[0](x) * 6).numpy(), rtol=1e-6)
    assert [type(l).__name__ for l in seq] == ["Linear", "Scale", "Sequential"] and len(seq[1:]) == 2
    named = nn.Sequential(("a", nn.Identity()), ("b", Scale(1)))
    assert list(named.state_dict()) == ["b.weight"] and named(oarlock.ones(1)).item() == 2


def test_layers_live_as_long_as_their_container():
    seq = nn.Sequential(Scale(2))
    gc.collect()
    assert seq(oarlock.ones(2)).tolist() == [2, 2] and isinstance(seq[0], Scale)
    gone = weakref.ref(seq[0])
    gc.collect()
    assert gone() is not None
    del seq
    gc.collect()
    assert gone() is None


class Doubled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


def test_built_in_layers_may_be_derived_from():
    layer, x = Doubled(2, 2), oarlock.ones((1, 2))
    plain = nn.Linear(2, 2)
    plain.set_state_dict(layer.state_dict())
    np.testing.assert_allclose(layer(x).numpy(), plain(x).numpy() * 2)
    np.testing.assert_allclose(nn.Sequential(layer)(x).numpy(), plain(x).numpy() * 2)
    assert "Doubled(in_features=2" in repr(layer)


class Odd(nn.Layer):
    def forward(self, x, mode="a", *, more=None):
        return {"x": x, "mode": mode, "more": more}


def test_any_arguments_and_results_from_python_to_python():
    x = oarlock.ones(1)
    out = Odd()(x, "b", more=[1])
    assert out["x"] is x and out["mode"] == "b" and out["more"] == [1]
    assert Scale(1)(x, twice=True).item() == 4 and Scale(1)(x=x).item() == 2

    class Pair(nn.Layer):
        def forward(self, a, b=None):
            return (a, b)
    pair = Pair()
    assert pair(x)[1] is None and len(pair(x, x)) == 2


def test_hooks():
    layer, x, seen = nn.Linear(2, 2), oarlock.ones((1, 2)), []
    first = layer.register_forward_pre_hook(lambda l, inputs: seen.append((l is layer, len(inputs))))
    second = layer.register_forward_post_hook(lambda l, inputs, out: out * 0 + 5)
    assert nn.Sequential(layer)(x).tolist() == [[5, 5]] and layer(x).tolist() == [[5, 5]] and seen == [(True, 1)] * 2
    first.remove(), second.remove()
    assert layer(x).tolist() != [[5, 5]] and len(seen) == 2
    scale = Scale(2)
    handle = scale.register_forward_pre_hook(lambda l, inputs: inputs[0] * 10)
    assert scale(x).tolist() == [[20, 20]] and scale(x, twice=True).tolist() == [[40, 40]]
    handle.remove()
    assert scale(x).tolist() == [[2, 2]]


class Broken(nn.Layer):
    def forward(self, x):
        raise KeyError("the very same")


def test_exceptions_come_through_the_library_unchanged():
    with pytest.raises(KeyError, match="the very same") as caught:
        nn.Sequential(nn.Identity(), Broken())(oarlock.ones(1))
    assert any(e.name == "forward" for e in caught.traceback)
    with pytest.raises(NotImplementedError):
        nn.Layer()(oarlock.ones(1))
    with pytest.raises(TypeError):
        nn.Sequential(1)
    with pytest.raises(ValueError, match=r"3.*4|4.*3"):
        nn.Linear(4, 2)(oarlock.ones((1, 3)))

    class Early(nn.Layer):
        def __init__(self):
            self.fc = nn.Linear(1, 1)
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        Early()


def test_modes_reach_all_layers():
    net = nn.Sequential(Net(), nn.Dropout(0.9))
    assert net.training and net.eval() is net
    assert not any(l.training for l in net.sublayers())
    x = oarlock.ones((1, 4))
    assert net(x).tolist() == net(x).tolist()
    net.train()
    assert net[0].layers[1].training
    net.freeze()
    assert not any(p.requires_grad for p in net.parameters())
    names = []
    net.apply(lambda l: names.append(type(l).__name__))
    assert names[-1] == "Sequential" and "Scale" in names


def test_state_is_set_whole_or_not_at_all():
    a, b = Net(), Net()
    b.set_state_dict(a.state_dict())
    assert all(x.tolist() == y.tolist() for x, y in zip(a.parameters(), b.parameters()))
    state = {k: v + 1 for k, v in a.state_dict().items()}
    state["fc1.bias"] = oarlock.zeros(7)
    with pytest.raises(ValueError, match="fc1.bias"):
        b.set_state_dict(state)
    assert b.fc1.weight.tolist() == a.fc1.weight.tolist()
    del state["fc1.bias"]
    report = b.load_state_dict(state, strict=False)
    assert report.missing_keys == ["fc1.bias"] and report.unexpected_keys == []


def test_to_dtype_keeps_the_objects():
    net = Net()
    before = net.scale.weight
    net.to(dtype="float64")
    assert net.scale.weight is before and before.dtype == oarlock.float64
    assert net(oarlock.ones((1, 4), dtype="float64")).dtype == oarlock.float64 and net.to("cpu") is net


def test_save_and_load(tmp_path):
    a, b = Net(), Net()
    oarlock.save(a.state_dict(), tmp_path / "net.safetensors")
    b.set_state_dict(oarlock.load(str(tmp_path / "net.safetensors")))
    assert all(x.tolist() == y.tolist() for x, y in zip(a.parameters(), b.parameters()))
    oarlock.save(tmp_path / "m", {"x": oarlock.ones(2)}, {"by": "me"})
    assert oarlock.load_metadata(tmp_path / "m")["by"] == "me"
    (tmp_path / "bad").write_bytes(b"no weights")
    with pytest.raises(ValueError):
        oarlock.load(tmp_path / "bad")
    with pytest.raises((OSError, oarlock.Error)):
        oarlock.load(tmp_path / "none")


@pytest.mark.parametrize("make", [
    lambda p: optim.SGD(p, learning_rate=0.1), lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: optim.SGD(0.1, parameters=p), lambda p: optim.Adam(p, lr=0.05, betas=(0.8, 0.9)), lambda p: optim.AdamW(learning_rate=0.05, parameters=p),
    lambda p: optim.RMSProp(p), lambda p: optim.Adagrad(p, 0.1), lambda p: optim.SGD([{"params": p, "lr": 0.05}], 0.1),
    lambda p: optim.SGD(p, optim.lr.StepDecay(0.1, 5)), lambda p: optim.SGD(p, 0.1, grad_clip=optim.ClipGradByGlobalNorm(1.0)),
])
def test_optimisers_lower_a_loss(make):
    oarlock.set_seed(0)
    layer = nn.Linear(3, 1)
    opt = make(layer.parameters())
    x = oarlock.asarray(np.random.default_rng(1).normal(size=(16, 3)).astype("float32"))
    y = x.sum(axis=1, keepdims=True)
    losses = []
    for _ in range(20):
        loss = ((layer(x) - y) * (layer(x) - y)).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.9


def test_sgd_step_by_hand_and_its_state():
    w = nn.Parameter(oarlock.tensor([1.0]))
    opt = optim.SGD([w], 0.5, momentum=0.5)
    for expected in (0.0, -1.5):  # velocity 2, then 0.5 * 2 + 2
        w.grad = oarlock.tensor([2.0])
        opt.step()
        assert w.item() == expected
    other = nn.Parameter(oarlock.tensor([-1.5]))
    again = optim.SGD([other], 0.5, momentum=0.5)
    again.set_state_dict(copy.deepcopy(opt.state_dict()))
    for p, o in ((w, opt), (other, again)):
        p.grad = oarlock.tensor([2.0])
        o.step()
    assert w.item() == other.item() == -3.25
    with pytest.raises(TypeError):
        optim.SGD()
    with pytest.raises(TypeError):
        optim.SGD(w)


def test_schedules():
    s = optim.lr.CosineAnnealingDecay(1.0, T_max=10)
    rates = []
    for _ in range(11):
        rates.append(s.get_lr())
        s.step()
    np.testing.assert_allclose(rates, (1 + np.cos(np.pi * np.arange(11) / 10)) / 2, atol=1e-12)
    assert optim.lr.LambdaDecay(2.0, lambda epoch: 0.5)() == 1.0
    warm = optim.lr.LinearWarmup(s, 4, 0.0, 1.0)
    assert warm.get_lr() == 0.0


def test_calls_from_many_threads():
    net, failures = nn.Sequential(nn.Linear(4, 3), Scale(3)).eval(), []
    x = oarlock.ones((2, 4))
    expected = net(x).tolist()

    def work():
        for _ in range(100):
            if net(x).tolist() != expected:
                failures.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_initialisers():
    oarlock.set_seed(3)
    w = nn.initializer.XavierUniform()((50, 70))
    assert abs(w.numpy()).max() <= (6 / 120) ** 0.5 and abs(w.numpy().std() - (2 / 120) ** 0.5) < 0.01
    layer = nn.Linear(2, 2, weight_attr=lambda shape, dtype: oarlock.full(shape, 7.0))
    assert layer.weight.tolist() == [[7, 7], [7, 7]]
    nn.initializer.Constant(4.0)(layer.weight)
    assert layer.weight.tolist() == [[4, 4], [4, 4]]
    q = nn.initializer.Orthogonal()((3, 5)).numpy()
    np.testing.assert_allclose(q @ q.T, np.eye(3), atol=1e-5)


def test_losses_and_activations_by_hand():
    x = oarlock.tensor([[1.0, 2.0], [0.5, 0.0]])
    labels = oarlock.tensor([1, 0])
    expected = -(x.numpy() - np.log(np.exp(x.numpy()).sum(1, keepdims=True)))[[0, 1], [1, 0]]
    np.testing.assert_allclose(nn.CrossEntropyLoss()(x, labels).item(), expected.mean(), rtol=1e-6)
    np.testing.assert_allclose(nn.CrossEntropyLoss(reduction="none")(input=x, label=labels).numpy(), expected, rtol=1e-6)
    assert nn.MSELoss()(x, x + 2).item() == 4 and nn.L1Loss(reduction="sum")(x, x - 1).item() == 4
    with pytest.raises(ValueError):
        nn.MSELoss(reduction="most")
    net = nn.Sequential(nn.LeakyReLU(0.5), nn.Hardtanh(-1, 1))
    assert net(oarlock.tensor([-4.0, -1.0, 0.5, 3.0])).tolist() == [-1, -0.5, 0.5, 1]
    np.testing.assert_allclose(nn.GELU()(oarlock.tensor([1.0])).item(), 0.8413447, rtol=1e-6)
    y = nn.LayerNorm(4)(oarlock.tensor([[1.0, 2.0, 3.0, 4.0]])).numpy()
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-4)


def test_attention_with_inputs_by_name():
    oarlock.set_seed(0)
    attention = nn.MultiHeadAttention(8, 2)
    q, k = oarlock.randn(2, 3, 8), oarlock.randn(2, 5, 8)
    assert attention(q, key=k, value=k).shape == (2, 3, 8)
    np.testing.assert_allclose(attention(q, key=k, value=k).numpy(), attention(q, k, k).numpy())
    with pytest.raises(TypeError, match="keys"):
        attention(q, keys=k)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2).eval()
    assert encoder(q).shape == (2, 3, 8)
    assert "Linear" in repr(nn.summary(encoder, (1, 3, 8)))
