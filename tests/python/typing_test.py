"""The stubs are accepted by mypy --strict, describe what is there, and refuse what is wrong."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import oarlock

PACKAGE = Path(oarlock.__file__).parent

PROGRAM = '''
from typing import Mapping

import numpy as np
import oarlock
from oarlock import autograd, callbacks, data, metric, nn, optim, vision


def train(x: oarlock.Tensor, w: oarlock.Tensor) -> float:
    loss = ((x @ w - 1.0) ** 2).mean(axis=0, keepdims=True).sum()
    loss.backward()
    if w.grad is not None:
        with oarlock.no_grad():
            w -= 0.1 * w.grad
    return float(loss)


@oarlock.no_grad()
def shape(x: oarlock.Tensor) -> tuple[int, ...]:
    return oarlock.reshape(x, (-1,)).shape


a: oarlock.Tensor = oarlock.asarray(np.ones((2, 3), dtype=np.float32))
b = oarlock.where(a > 0, a, 0.0)[..., None, ::-1, [0, 1]] if a.ndim else a.T
c = oarlock.concat([a, b], axis=-1).to("cpu").to(oarlock.float16)
n: int = a.size
train(a, oarlock.zeros(3, 1))
names: list[str] = oarlock.op_names()
grads: tuple[oarlock.Tensor, ...] = autograd.grad(a.sum(), [a])


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2, weight_attr=nn.initializer.XavierNormal())
        self.scale = nn.Parameter(oarlock.ones(2))

    def forward(self, x: oarlock.Tensor) -> oarlock.Tensor:
        y: oarlock.Tensor = self.fc(x) * self.scale
        return y


net = nn.Sequential(Net(), nn.ReLU()).train().to(dtype=oarlock.float32)
opt = optim.AdamW(net.parameters(), optim.lr.CosineAnnealingDecay(1e-3, 10), grad_clip=optim.ClipGradByNorm(1.0))
oarlock.save("net.safetensors", net.state_dict())


class Squares(data.Dataset):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> tuple[float, int]:
        return float(index), index * index


class Stop(callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Mapping[str, float] = {}) -> None:
        if logs["loss"] < 0.1:
            self.model.stop_training()


loader = data.DataLoader(Squares(), batch_size=2, num_workers=1, worker="process")
for batch in loader:
    first: oarlock.Tensor = batch[0]
clothes = vision.FashionMNIST("test", transform=vision.Compose([vision.ToFloat(), lambda image: image * 2]))
model = oarlock.Model(net)
model.prepare(opt, nn.CrossEntropyLoss(), [metric.Accuracy(topk=(1, 5))])
history: dict[str, list[float]] = model.fit(loader, clothes, epochs=2, callbacks=[Stop()])
'''
WRONG = '''
import oarlock
x: int = oarlock.zeros(2)
oarlock.sum("text", axes=1)
oarlock.matmul(oarlock.zeros(2))
'''


def mypy(folder, *files):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(folder / "cache"), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": str(folder / "path")})


def test_mypy_strict(tmp_path):
    # Links of the build tree are followed; a copy in which the stubs stand alone.
    package = tmp_path / "path" / "oarlock"
    package.mkdir(parents=True)
    for file in PACKAGE.iterdir():
        if file.suffix == ".pyi" or file.name == "py.typed":
            (package / file.name).write_text(file.read_text())
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    done = mypy(tmp_path, package, "program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    refused = mypy(tmp_path, "wrong.py")
    assert refused.returncode == 1
    assert [line.split(":")[1] for line in refused.stdout.splitlines() if "error" in line][:1] == ["3"]
    assert refused.stdout.count("error") >= 3


def declared(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_stubs_declare_what_there_is():
    internal = {"op_arange", "ones_like_of", "words_of", "from_bytes", "promoted", "as_dtype"}
    known = set().union(*(declared(PACKAGE / f"{name}.pyi") for name in ("_ops", "_core", "_creation", "_namespace", "_model")))
    ops = set(oarlock.op_names())
    assert not ops - known
    for name in known - {"OpMethods", "HookHandle"}:
        assert hasattr(oarlock, name) or name.endswith("Result"), name
    methods = ast.parse((PACKAGE / "_core.pyi").read_text()).body
    tensor = next(node for node in methods if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    for node in tensor.body:
        if isinstance(node, ast.FunctionDef) and node.name != "__buffer__":
            assert hasattr(oarlock.Tensor, node.name), node.name
    assert internal.isdisjoint(known)
