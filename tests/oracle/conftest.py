"""The package as the build made it, unless PYTHONPATH names another; with the plugins that it finds."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("oarlock") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build/python"))
