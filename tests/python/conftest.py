"""The package as the build made it, unless PYTHONPATH names another (an installed one, say)."""

import importlib.util
import os
import sys
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]

if importlib.util.find_spec("oarlock") is None:
    sys.path.insert(0, str(ROOT / "build/python"))
# Nothing is left in the tree, and a failure on one machine is one on all.
settings.register_profile("here", database=None, derandomize=True)
settings.load_profile("here")
# What the tests say holds without any plugin; test_plugins looks at those that are built.
os.environ.setdefault("OARLOCK_BACKENDS", "")
