"""The package as a whole: import, settings, plugins, the command."""

import os
import subprocess
import sys
from pathlib import Path

import oarlock
import pytest

HOME = str(Path(oarlock.__file__).parent.parent)


def python(code, **environment):
    env = {**os.environ, "PYTHONPATH": HOME, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_import_is_light():
    """Without NumPy and the like; the time itself is measured by the slow ring."""
    code = "import sys, oarlock; print(sorted({'numpy', 'inspect', 'typing', 'dataclasses', 'importlib.metadata'} & set(sys.modules)))"
    done = python(code)
    assert "numpy" not in done.stdout and "importlib.metadata" not in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_import_takes_under_300_ms():
    code = "import time; t = time.perf_counter(); import oarlock; print(time.perf_counter() - t)"
    assert min(float(python(code).stdout) for _ in range(5)) < 0.3


def test_settings():
    assert {"trace", "backends", "fallback"} <= {s.name for s in oarlock.settings()}
    before = oarlock.setting("fallback")
    oarlock.set_setting("fallback", "off")
    assert oarlock.setting("fallback") == "off"
    oarlock.set_setting("fallback", before)
    with pytest.raises(ValueError, match="nonsense"):
        oarlock.setting("nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        oarlock.set_setting("nonsense", True)


def test_trace_tells_the_stops():
    done = python("import oarlock\nwith oarlock.trace():\n  oarlock.ones((2, 2)) @ oarlock.ones((2, 2))\n")
    assert done.returncode == 0 and "matmul" in done.stderr


def test_profile(tmp_path):
    import json
    with oarlock.profile(tmp_path / "p.json"):
        oarlock.ones((2, 2)) @ oarlock.ones((2, 2))
    assert any(e.get("name") == "matmul" for e in json.loads((tmp_path / "p.json").read_text())["traceEvents"])


def test_op_table_and_explain():
    info = oarlock.op_info("matmul")
    assert info.inputs[0].name == "a" and info.has_gradient and "bfloat16" in info.types[0].dtypes
    x = oarlock.ones((2, 2))
    found = oarlock.explain("matmul", x, x)
    assert sum(c.chosen for c in found) == 1 and found[-1].plugin == "core"
    assert oarlock.call_op("sum", x, axes=[0], keepdims=True)[0].tolist() == [[2, 2]]
    assert oarlock.call_op("softmax", x)[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(TypeError, match="axs"):
        oarlock.call_op("sum", x, axs=[0])
    with pytest.raises(ValueError, match="nonsense"):
        oarlock.op_info("nonsense")
    oarlock.reset_placement()
    x @ x
    assert any(r.op == "matmul" and r.calls == 1 for r in oarlock.placement())


def test_plugins_that_cannot_be_loaded_say_why(tmp_path):
    (tmp_path / "not.so").write_text("no library")
    with pytest.raises(oarlock.Error, match="not.so"):
        oarlock.load_plugin(str(tmp_path / "not.so"))
    assert oarlock.probe_plugin(str(tmp_path / "not.so")).state == "refused"
    assert not any(p.state == "loaded" for p in oarlock.plugins()) and oarlock.devices()[0].name == "cpu"


def test_entry_points_are_plugins(tmp_path):
    package = tmp_path / "mine-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[oarlock.backends]\nmine = mine:where\n")
    (tmp_path / "mine.py").write_text(f"def where():\n    return {str(tmp_path / 'gone.so')!r}\n")
    env = {k: v for k, v in os.environ.items() if k != "OARLOCK_BACKENDS"}
    env |= {"PYTHONPATH": f"{HOME}:{tmp_path}", "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", "import oarlock"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "entry point mine" in done.stderr and "gone.so" in done.stderr
    env["OARLOCK_BACKENDS"] = ""
    done = subprocess.run([sys.executable, "-c", "import oarlock"], capture_output=True, text=True, env=env)
    assert done.stderr == ""


def test_the_command():
    from oarlock._command import program
    if not Path(program()).exists():
        pytest.fail("the command is not built")
    done = subprocess.run([sys.executable, "-m", "oarlock", "--version"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": HOME})
    assert done.stdout.startswith("oarlock ")


def test_random_numbers_follow_from_the_seed():
    oarlock.set_seed(7)
    a, b = oarlock.rand(1000), oarlock.randn(1000)
    oarlock.set_seed(7)
    assert oarlock.rand(1000).tolist() == a.tolist() and oarlock.randn(1000).tolist() == b.tolist()
    assert 0 <= a.numpy().min() and a.numpy().max() < 1 and abs(a.numpy().mean() - 0.5) < 0.05
    assert abs(b.numpy().mean()) < 0.15 and abs(b.numpy().std() - 1) < 0.15
    assert set(oarlock.randint(2, 5, (200,)).tolist()) == {2, 3, 4}
