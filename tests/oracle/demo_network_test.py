"""The demo network's first steps beside the same network in torch: same weights, same images, same schedule.

The measure is torch in f64. Rounding in f32 moves a loss off that, and each step moves it on through the weights; how far
depends on the network, and is taken from torch's own f32, run in three ways that differ only in the order of sums. At each
step ours may be off by FACTOR times the most that any of them was off up to there, plus one rounding of the loss by the
tolerance formula (4 * eps * |loss|, for the case that they all happen to be right). Two sums of the same numbers in
different orders have errors of the same size, of which the largest of 20 may differ by a small factor: FACTOR is 8. That
the bound is tight enough to see an error is a test of its own.
"""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.rivals

ROOT = Path(__file__).resolve().parents[2]
STEPS, BATCH, FACTOR = 20, 64, 8
RATE, TOTAL = 0.05, 8 * (60000 // BATCH)
EPS = float(np.finfo(np.float32).eps)


def our_net():
    import oarlock as ol
    from oarlock import nn

    def conv(inside, outside, kernel, stride, padding):
        return nn.Conv2D(inside, outside, kernel, stride, padding, bias_attr=False)

    class Block(nn.Layer):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.conv1, self.bn1 = conv(inside, outside, 3, stride, 1), nn.BatchNorm2D(outside)
            self.conv2, self.bn2 = conv(outside, outside, 3, 1, 1), nn.BatchNorm2D(outside)
            self.downsample = nn.Sequential(conv(inside, outside, 1, stride, 0), nn.BatchNorm2D(outside))

        def forward(self, x):
            y = self.bn2(self.conv2(ol.relu(self.bn1(self.conv1(x)))))
            return ol.relu(y + self.downsample(x))

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = conv(1, 16, 3, 1, 1), nn.BatchNorm2D(16)
            self.layer1, self.layer2 = Block(16, 32, 2), Block(32, 64, 2)
            self.fc = nn.Linear(64, 10)

        def forward(self, x):
            return self.fc(ol.mean(self.layer2(self.layer1(ol.relu(self.bn1(self.conv1(x))))), (2, 3)))

    ol.set_seed(1)
    return Net()


def torch_net():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outside)
            self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outside)
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x):
            y = self.bn2(self.conv2(nn.functional.relu(self.bn1(self.conv1(x)))))
            return nn.functional.relu(y + self.downsample(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(16)
            self.layer1, self.layer2 = Block(16, 32, 2), Block(32, 64, 2)
            self.fc = nn.Linear(64, 10)

        def forward(self, x):
            return self.fc(self.layer2(self.layer1(nn.functional.relu(self.bn1(self.conv1(x))))).mean((2, 3)))

    return Net()


@pytest.fixture(scope="module")
def batches():
    """The first images of the training set in their order, prepared as the example does."""
    from oarlock import vision

    data = vision.FashionMNIST("train")
    n = STEPS * BATCH
    images = np.asarray(data.images[:n]).reshape(n, 1, 28, 28)
    x = ((images.astype(np.float32) / np.float32(255) - np.float32(0.2860)) / np.float32(0.3530)).astype(np.float32)
    y = np.asarray(data.labels[:n]).astype(np.int64).reshape(n)
    return [(x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, n, BATCH)]


@pytest.fixture(scope="module")
def weights():
    """What the example starts from, by torch's keys."""
    return {name: np.array(value) for name, value in our_net().state_dict().items()}


def our_losses(batches, rate=RATE, scheduled=True):
    import oarlock as ol

    net = our_net()
    net.train()
    schedule = ol.optim.lr.OneCycleLR(rate, TOTAL) if scheduled else rate
    optimiser = ol.optim.SGD(net.parameters(), learning_rate=schedule, momentum=0.9, weight_decay=2e-4, nesterov=True)
    loss = ol.nn.CrossEntropyLoss()
    losses = []
    for x, y in batches:
        value = loss(net(ol.tensor(x)), ol.tensor(y))
        value.backward()
        optimiser.step()
        optimiser.clear_grad()
        if scheduled:
            schedule.step()
        losses.append(value.item())
    return np.array(losses)


def torch_losses(batches, weights, dtype, scheduled, mkldnn=True, channels_last=False):
    import torch

    net = torch_net()
    missing = net.load_state_dict({k: torch.tensor(v) for k, v in weights.items()}, strict=False)
    assert not missing.unexpected_keys and all(k.endswith("num_batches_tracked") for k in missing.missing_keys)
    net.to(dtype)
    if channels_last:
        net.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9, weight_decay=2e-4, nesterov=True)
    # The end at 1e-4, which torch writes as a division of the start, RATE / 25.
    if scheduled:
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, RATE, TOTAL, cycle_momentum=False, final_div_factor=RATE / 25 / 1e-4
        )
    losses = []
    with torch.backends.mkldnn.flags(enabled=mkldnn):
        for x, y in batches:
            x = torch.tensor(x).to(dtype)
            x = x.to(memory_format=torch.channels_last) if channels_last else x
            value = torch.nn.functional.cross_entropy(net(x), torch.tensor(y))
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            if scheduled:
                schedule.step()
            losses.append(value.item())
    return np.array(losses)


@pytest.fixture(scope="module", params=[True, False], ids=["one cycle", "constant rate"])
def measure(request, batches, weights):
    """(whether the rate follows the schedule, torch's losses in f64, how far ours may be from them)."""
    import torch

    exact = torch_losses(batches, weights, torch.float64, request.param)
    runs = [
        torch_losses(batches, weights, torch.float32, request.param, **how)
        for how in ({}, {"mkldnn": False}, {"channels_last": True})
    ]
    off = np.maximum.accumulate(np.max([np.abs(run - exact) for run in runs], axis=0))
    return request.param, exact, FACTOR * off + 4 * EPS * np.abs(exact)


def test_the_first_steps_agree_with_torch(batches, measure):
    scheduled, exact, bound = measure
    losses = our_losses(batches, scheduled=scheduled)
    print("\nstep      f64  ours-f64    bound")
    for i, (e, l, b) in enumerate(zip(exact, losses, bound)):
        print(f"{i + 1:4} {e:8.5f} {l - e:9.1e} {b:8.1e}")
    assert exact[-1] < exact[0], "the network learns nothing, so there is nothing to compare"
    assert np.all(np.abs(losses - exact) <= bound)


def test_a_rate_that_is_one_percent_off_is_seen(batches, measure):
    scheduled, exact, bound = measure
    assert np.any(np.abs(our_losses(batches, 1.01 * RATE, scheduled) - exact) > bound)


@pytest.mark.parametrize("measure", [False], ids=["constant rate"], indirect=True)
def test_it_is_the_network_of_the_example(batches, measure):
    """The example prints six decimals of each loss of its first steps, on the same images, at a constant rate."""
    _, _, bound = measure
    said = subprocess.run(
        [str(ROOT / "build/bin/02_train_cnn"), "--steps", str(STEPS)], capture_output=True, text=True, check=True
    ).stdout
    printed = np.array([float(v) for v in re.findall(r"loss (\d+\.\d+)", said)])
    assert len(printed) == STEPS
    assert np.all(np.abs(our_losses(batches, scheduled=False) - printed) <= bound + 1e-6)
