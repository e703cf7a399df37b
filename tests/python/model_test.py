"""Metrics, Model and callbacks, the library's own and those written in Python."""

import signal
import threading
import os

import numpy as np
import oarlock
import pytest
from oarlock import callbacks, data, metric, nn, optim


def problem(n=64, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype("float32")
    y = (x @ np.float32([1, -2, 3, 0.5]) > 0).astype("int64")
    return data.TensorDataset(x, y)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        return self.out(oarlock.relu(self.fc(x)))


def made(metrics=None, loss=None):
    oarlock.set_seed(1)
    net = Net()
    model = oarlock.Model(net)
    model.prepare(optim.Adam(net.parameters(), 0.01), loss or nn.CrossEntropyLoss(), metrics)
    return model


def weights(model):
    return {k: v.tolist() for k, v in model.network.state_dict().items()}


def test_metrics():
    a = metric.Accuracy(topk=(1, 2))
    a.update([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [2, 0])
    assert a.accumulate() == [0.5, 1.0] and a.name() == ["acc_top1", "acc_top2"]
    p, r = metric.Precision(), metric.Recall()
    for m in (p, r):
        m.update([0.9, 0.8, 0.2, 0.1, 0.3], [1, 0, 1, 0, 1])
    assert p.accumulate() == 0.5 and r.accumulate() == pytest.approx(1 / 3)
    auc = metric.Auc()
    auc.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    assert auc.accumulate() == pytest.approx(0.75, abs=1e-3)  # the example of scikit-learn's roc_auc_score
    mean = metric.Mean()
    mean.update([1.0, 2.0])
    mean.add(6.0)
    other = metric.Mean()
    other.set_state(mean.state())
    assert other.accumulate() == mean.accumulate() == 3.0
    with pytest.raises(oarlock.Error, match="update"):
        metric.Metric().update([1.0])


def test_fit_learns_with_a_python_network():
    model = made([metric.Accuracy()])
    history = model.fit(problem(), problem(32, 1), batch_size=16, epochs=20, verbose=0)
    assert history["loss"][-1] < 0.5 * history["loss"][0] and history["acc"][-1] > 0.9
    assert set(history) == {"loss", "acc", "val_loss", "val_acc", "lr"} and len(history["val_acc"]) == 20
    assert model.history == history and type(model.network) is Net
    scores, = model.predict(problem(32, 1), batch_size=10)
    labels = problem(32, 1).tensors[1].numpy()
    said = model.evaluate(data.DataLoader(problem(32, 1), 10), verbose=0)
    assert said["acc"] == pytest.approx((scores.numpy().argmax(1) == labels).mean())
    assert said["acc"] == pytest.approx(history["val_acc"][-1])
    assert "Linear" in model.summary((1, 4)) and model.progress["epoch"] == 19


def test_single_batches_are_what_a_loop_computes():
    x, y = (t[:8] for t in problem().tensors)
    model, other = made(), made()
    logs = model.train_batch([x], [y])
    loss = nn.CrossEntropyLoss()(other.network(x), y)
    loss.backward()
    other.optimizer.step()
    assert logs["loss"] == pytest.approx(loss.item(), rel=1e-6) and weights(model) == weights(other)
    assert model.eval_batch(x, y)["loss"] < logs["loss"]
    assert model.predict_batch(x)[0].shape == (8, 2)


def test_losses_and_metrics_written_in_python():
    class Count(metric.Metric):
        def __init__(self):
            self.n = 0

        def name(self):
            return "count"

        def reset(self):
            self.n = 0

        def update(self, prediction, label):
            self.n += len(label)

        def accumulate(self):
            return self.n

    def loss(out, y):
        return oarlock.softmax_cross_entropy(out, y).mean() if hasattr(oarlock, "softmax_cross_entropy") else nn.CrossEntropyLoss()(out, y)
    model = made([Count(), metric.Accuracy()], loss)
    history = model.fit(problem(), batch_size=16, epochs=2, verbose=0)
    assert history["count"] == [64, 64] and history["loss"] == made([], None).fit(problem(), batch_size=16, epochs=2, verbose=0)["loss"]


def test_callbacks_hear_everything_in_order():
    heard = []

    class Listener(callbacks.Callback):
        def on_train_begin(self):
            heard.append("begin")

        def on_epoch_begin(self, epoch):
            heard.append(f"epoch {epoch}")

        def on_train_batch_begin(self, step):
            heard.append(f"batch {step}")

        def on_train_batch_end(self, step, logs):
            assert set(logs) == {"loss"} and self.model.progress["step"] == step
            if self.model.progress["total_steps"] == 3:
                self.model.stop_training()

        def on_epoch_end(self, epoch, logs):
            heard.append(f"end {epoch}")

        def on_train_end(self, logs):
            heard.append("over")
    made().fit(problem(32), batch_size=16, epochs=5, verbose=0, callbacks=[Listener()])
    assert heard == ["begin", "epoch 0", "batch 1", "batch 2", "end 0", "epoch 1", "batch 1", "over"]


def test_shipped_callbacks(tmp_path):
    class Best(callbacks.EarlyStopping):
        ended = 0

        def on_epoch_end(self, epoch, logs):
            super().on_epoch_end(epoch, logs)
            self.ended += 1
    stop = Best("loss", patience=0, min_delta=10.0)
    csv = callbacks.CSVLogger(tmp_path / "log.csv")
    made().fit(problem(), batch_size=32, epochs=9, verbose=0, callbacks=[stop, csv, callbacks.TensorBoard(tmp_path / "tb")],
               save_dir=tmp_path / "kept")
    assert stop.ended == 2 and stop.best > 0
    assert (tmp_path / "log.csv").read_text().startswith("epoch,") and list((tmp_path / "tb").iterdir())
    assert {"0.safetensors", "final.safetensors"} <= {p.name for p in (tmp_path / "kept").iterdir()}
    with pytest.raises(TypeError, match="Callback"):
        made().fit(problem(), callbacks=[3], verbose=0)


def test_errors_come_out_unchanged_and_tell_the_callbacks():
    told = []

    class Bad(callbacks.Callback):
        def on_train_batch_end(self, step, logs):
            raise ZeroDivisionError("mine")

        def on_train_failed(self):
            told.append(True)
    model = made()
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.fit(problem(), batch_size=8, verbose=0, callbacks=Bad())
    assert told == [True]

    class Broken(Net):
        def forward(self, x):
            raise LookupError("in forward")
    net = Broken()
    model = oarlock.Model(net)
    model.prepare(optim.SGD(net.parameters(), 0.1), nn.CrossEntropyLoss())
    with pytest.raises(LookupError, match="in forward"):
        model.fit(problem(), verbose=0)
    with pytest.raises(ValueError, match="prepare"):
        oarlock.Model(net).fit(problem(), verbose=0)
    with pytest.raises(oarlock.Error, match="loss is NaN"):
        bad = made(loss=lambda out, y: (out * float("nan")).mean())
        bad.fit(problem(), verbose=0)


def test_control_c_ends_fit():
    # A process started in the background ignores the signal, and so would this test: it would train to the end.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            made().fit(problem(), batch_size=8, epochs=20000, verbose=0)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("steps", [1, 4, 5, 7])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, steps):
    class Keep(callbacks.Callback):
        def on_train_batch_end(self, step, logs):
            if self.model.progress["total_steps"] == steps:
                self.model.save(tmp_path / "at.safetensors")
                raise InterruptedError

    def loader():
        return data.DataLoader(problem(), 16, shuffle=True, seed=3, num_workers=2)
    whole = made([metric.Accuracy()])
    want = whole.fit(loader(), epochs=3, verbose=0)
    cut = made([metric.Accuracy()])
    with pytest.raises(InterruptedError):
        cut.fit(loader(), epochs=3, verbose=0, callbacks=[Keep()])
    oarlock.set_seed(77)
    net = Net()
    again = oarlock.Model(net)
    again.prepare(optim.Adam(net.parameters(), 0.01), nn.CrossEntropyLoss(), metric.Accuracy())
    got = again.fit(data.DataLoader(problem(), 16, shuffle=True, seed=8), epochs=3, verbose=0, resume=tmp_path / "at.safetensors")
    assert got == want and weights(again) == weights(whole)


def test_save_and_load(tmp_path):
    model, other = made(), made()
    model.fit(problem(), batch_size=16, verbose=0)
    model.save(tmp_path / "weights.safetensors", training=False)
    other.load(tmp_path / "weights.safetensors")
    assert weights(model) == weights(other) and set(oarlock.load(tmp_path / "weights.safetensors")) == set(weights(model))
    with pytest.raises(oarlock.Error):
        other.load(tmp_path / "none")


def test_a_loader_in_use_says_so():
    loader = data.DataLoader(problem(), 16)

    class Again(callbacks.Callback):
        def on_train_batch_end(self, step, logs):
            loader.next()
    with pytest.raises(oarlock.Error, match="in use"):
        made().fit(loader, verbose=0, callbacks=[Again()])
    assert len(list(loader)) > 0
