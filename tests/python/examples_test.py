"""Every example in Python runs, in its small form, and does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import oarlock
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(name, *arguments):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": str(Path(oarlock.__file__).parent.parent)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_custom_function():
    said = run("03_custom_function.py", "--steps", 100)
    assert float(re.search(r"gradient: (\S+)", said)[1]) < 1e-8
    first, last = map(float, re.findall(r"loss (\S+)", said))
    assert last < 0.5 * first


def test_dcgan(tmp_path):
    if not Path(os.environ.get("OARLOCK_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")).exists():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    said = run("04_dcgan.py", "--steps", 2, "--batch-size", 16, "--width", 4, "--out", tmp_path / "grid.png")
    assert "step 2: critic" in said and (tmp_path / "grid.png").read_bytes()[:4] == b"\x89PNG"


def test_transformer():
    said = run("05_transformer.py", "--steps", 30, "--context", 16, "--width", 32, "--depth", 1, "--length", 20)
    losses = [float(x) for x in re.findall(r"loss (\S+)", said)]
    assert losses[-1] < losses[0] and len(said.split("---\n")[1].rstrip("\n")) >= 20


def test_resume():
    assert "the same bits" in run("06_resume.py", "--epochs", 2)
