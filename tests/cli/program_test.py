"""`oarlock inspect`, `run` and `bench` on saved programs."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
OARLOCK = Path(os.environ.get("OARLOCK_BIN", ROOT / "build/bin/oarlock"))
MUSEUM = ROOT / "tests/museum/0.1"
LETTER = 7.3  # width of a letter of the drawing's font at its size, in pixels


def oarlock(*arguments, code=0):
    environment = {**os.environ, "OARLOCK_BACKENDS": str(OARLOCK.parent.parent / "lib/oarlock/backends")}
    done = subprocess.run([OARLOCK, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def tensors(path):
    """Those of a safetensors file of f32."""
    raw = path.read_bytes()
    n = int.from_bytes(raw[:8], "little")
    entries = {k: v for k, v in json.loads(raw[8:8 + n]).items() if k != "__metadata__"}
    return {k: numpy.frombuffer(raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]], "<f4").reshape(v["shape"])
            for k, v in entries.items()}


def test_inspect_lists_nodes_shapes_and_work():
    text = oarlock("inspect", MUSEUM / "fashion.oarp")
    assert re.search(r"^conv +%\d+: f32\[N, 8, 14, 14\] .* 14112\*N", text, re.M), text
    assert "3 batch_norm" not in text and "2 batch_norm" in text
    with_sizes = oarlock("inspect", MUSEUM / "fashion.oarp", "--shape", "4,1,28,28")
    assert "f32[4, 8, 14, 14]" in with_sizes and "56448" in with_sizes and "million multiply-adds" in with_sizes
    assert oarlock("inspect", MUSEUM / "fashion.oarp", "--text").startswith('program "fashion" 1 {\n  size N\n')


def test_inspect_as_data():
    p = json.loads(oarlock("inspect", MUSEUM / "transformer.oarp", "--json"))
    assert p["inputs"] == ["tokens"] and len(p["nodes"]) > 40
    types = {v["name"]: v["type"] for v in p["values"]}
    assert types["tokens"] == "f32[N, T, 16]" and types[p["results"][0]["value"]] == "f32[N, T, 16]"


@pytest.mark.parametrize("name", ["fashion", "transformer", "sizes", "noise"])
def test_no_text_of_a_drawing_leaves_its_box(name, tmp_path):
    oarlock("inspect", MUSEUM / f"{name}.oarp", "--svg", tmp_path / "p.svg")
    root = xml.parse(tmp_path / "p.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for group in root.iter(space + "g"):
        rect = group.find(space + "rect")
        x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        boxes.append((x, y, w, h))
        assert 0 <= x and x + w <= float(root.get("width")) and 0 <= y and y + h <= float(root.get("height"))
        for text in group.iter(space + "text"):
            assert x < float(text.get("x")) and float(text.get("x")) + LETTER * len(text.text or "") < x + w
            assert y + 10 < float(text.get("y")) < y + h
    assert len(boxes) >= 3
    for i, (x, y, w, h) in enumerate(boxes):
        for X, Y, W, H in boxes[:i]:
            assert x + w <= X or X + W <= x or y + h <= Y or Y + H <= y, "two boxes overlap"


def test_run_writes_what_the_program_gives(tmp_path):
    answers = tensors(MUSEUM / "fashion.answers.safetensors")
    numpy.save(tmp_path / "image.npy", answers["in0"])
    out = oarlock("run", MUSEUM / "fashion.oarp", "--input", f"image={tmp_path}/image.npy", "--out", tmp_path / "out", "--trace",
                  tmp_path / "trace.json")
    assert "f32[3, 10]" in out
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out/out0.npy"), answers["out0"], rtol=1e-4, atol=1e-5)
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = trace if isinstance(trace, list) else trace["traceEvents"]
    assert sum(e.get("cat") == "step" for e in events) >= 4


def test_bench_measures_runs_and_steps():
    m = json.loads(oarlock("bench", MUSEUM / "fashion.oarp", "--shape", "2,1,28,28", "--seconds", "0.2", "--threads", "2", "--json"))
    assert m["runs"] >= 6 and 0 < m["least_ms"] <= m["p50_ms"] <= m["p99_ms"] <= m["most_ms"]
    steps = m["steps"]
    assert any(s["op"].startswith("conv") for s in steps) and abs(sum(s["share"] for s in steps) - 1) < 1e-6
    assert all(s["calls"] >= 1 and s["us"] > 0 for s in steps)
    plain = json.loads(oarlock("bench", MUSEUM / "fashion.oarp", "--shape", "2,1,28,28", "--seconds", "0.2", "--json", "--without",
                               "fold_batch_norm"))["steps"]
    assert any(s["op"].startswith("batch_norm") for s in plain) and not any(s["op"].startswith("batch_norm") for s in steps)
    text = oarlock("bench", MUSEUM / "fashion.oarp", "--shape", "2,1,28,28", "--seconds", "0.2")
    assert "runs a second" in text and "p99" in text


@pytest.mark.parametrize("arguments, words", [
    (["inspect", "/nowhere.oarp"], "/nowhere.oarp"),
    (["run", MUSEUM / "fashion.oarp"], "give each input's sizes with --shape"),
    (["run", MUSEUM / "fashion.oarp", "--shape", "2,x"], "'x' is no size"),
    (["run", MUSEUM / "fashion.oarp", "--shape", "2,1,28,27"], "axis 3 disagrees"),
    (["run", MUSEUM / "fashion.oarp", "--input", "picture=/nowhere.npy"], "no such input"),
    (["run", MUSEUM / "fashion.oarp", "--shape", "2,1,28,28", "--without", "nothing"], "no pass is called nothing"),
    (["bench", MUSEUM / "fashion.oarp", "--shape", "2,1,28,28", "--device", "moon"], "moon"),
])
def test_errors_say_what_to_do(arguments, words):
    assert words in oarlock(*arguments, code=1)
