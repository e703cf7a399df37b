"""pip install . in an empty environment brings the package, its plugins and the command line."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAINS = """
import oarlock as oar
import oarlock.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
net(oar.ones([3, 4])).sum().backward()
print(net[0].weight.grad.shape)
"""


@pytest.mark.slow
def test_pip_install_brings_plugins_and_the_command(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OARLOCK_", "PYTHON"))}
    env["XDG_DATA_HOME"] = str(tmp_path / "data")
    venv.create(tmp_path / "v", with_pip=True)
    python, command = tmp_path / "v/bin/python", tmp_path / "v/bin/oarlock"

    def run(*args):
        done = subprocess.run(args, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout

    run(python, "-m", "pip", "install", str(ROOT))
    assert run(python, "-c", TRAINS).strip() == "(8, 4)"
    devices = json.loads(run(command, "devices", "--json"))
    built = {p.stem.removeprefix("liboarlock_") for p in (ROOT / "build/lib/oarlock/backends").glob("*.so")}
    listed = {name for device in devices for name in device["kernels_of"]} if devices else set()
    assert built and built <= listed
    assert run(command, "--version").strip().endswith("0.1.0")
