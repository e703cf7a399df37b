"""An eager call costs what the stored baseline says, within 2 %. A change on purpose stores a new one:
ci/dev report instructions --fresh."""

import importlib.util
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOLERANCE = 0.02


def load_script():
    spec = importlib.util.spec_from_file_location("instructions", HERE / "instructions.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_instructions_per_call():
    baseline = dict(json.loads((HERE.parent / "results/instructions.json").read_text())["rows"])
    measured = dict(load_script().table()["rows"])
    assert measured.keys() == baseline.keys()
    for name, want in baseline.items():
        change = measured[name] / want - 1
        assert abs(change) <= TOLERANCE, f"{name}: {measured[name]} instructions per call, baseline {want} ({change:+.1%})"
