"""Measuring beside a rival: each side in a process of its own, asked in turn over lines of JSON."""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def resident(field="VmRSS"):
    line = next(line for line in open("/proc/self/status") if line.startswith(field))
    return int(line.split()[1]) / 1024


class Side:
    """A child of `script`, called with --child and the arguments; what it prints first is its version."""

    def __init__(self, script, *arguments, threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
        env["PYTHONPATH"] = os.pathsep.join([env.get("PYTHONPATH", ""), str(ROOT / "build/python")])
        self.process = subprocess.Popen([sys.executable, script, "--child", *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=env)
        self.version = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[2:]} ended early")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def keep_to(threads):
    """This process on so many cores."""
    try:
        os.sched_setaffinity(0, range(threads))
    except OSError:
        pass  # fewer cores, or not ours to choose


def rival_python():
    """A Python that has torch: this one, or the one of .venv-rivals."""
    try:
        version("torch")
        return None
    except PackageNotFoundError:
        return os.environ.get("OARLOCK_TORCH_PYTHON", ROOT / ".venv-rivals/bin/python")
