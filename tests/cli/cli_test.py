"""The program `oarlock` from the outside: what it prints, for people and for machines, and its exit codes. Needs the
built tree; OARLOCK_BIN says where the program is."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OARLOCK = Path(os.environ.get("OARLOCK_BIN", ROOT / "build/bin/oarlock"))
BUILD = OARLOCK.parent.parent
SIM = BUILD / "tests/sim"
NULL = BUILD / "lib/oarlock/backends/liboarlock_null.so"
ABI = BUILD / "tests/abi"


def run(*arguments, backends=SIM, code=0, **env):
    """stdout of a call that must end with this exit code; stderr where it isn't 0."""
    environment = {**os.environ, "OARLOCK_BACKENDS": str(backends), **env}
    done = subprocess.run([OARLOCK, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stdout + done.stderr


def run_json(*arguments, **options):
    return json.loads(run(*arguments, "--json", **options))


def test_doctor_lists_what_loads():
    report = run_json("doctor")
    assert [p["name"] for p in report["plugins"]] == ["sim"]
    assert report["plugins"][0]["state"] == "loaded"
    assert report["devices"] == ["cpu", "sim:0"]
    assert report["problems"] == []
    assert "doctor: no problems" in run("doctor")


def test_doctor_says_why_a_plugin_is_refused():
    report = json.loads(run("doctor", "--json", backends=f"{ABI / 'liar'}:{SIM}", code=1))
    states = {Path(p["path"]).name: p for p in report["plugins"]}
    assert states["libliar.so"]["state"] == "refused"
    assert "1-3" in states["libliar.so"]["reason"]
    assert states["liboarlock_sim.so"]["state"] == "loaded"   # one bad plugin stops no other
    assert "libliar.so" in run("doctor", backends=f"{ABI / 'liar'}:{SIM}", code=1)


def test_doctor_reports_a_setting_of_the_wrong_type():
    text = run("doctor", code=1, OARLOCK_TRACE="perhaps")
    assert "OARLOCK_TRACE" in text and "perhaps" in text


def test_devices():
    assert [d["name"] for d in run_json("devices")] == ["cpu", "sim:0"]
    assert [d["name"] for d in run_json("devices", backends="")] == ["cpu"]
    assert "sim:0" in run("devices")


def test_probe():
    info = run_json("probe", SIM / "liboarlock_sim.so")
    assert (info["name"], info["state"]) == ("sim", "loads")
    assert run_json("probe", "sim")["name"] == "sim"   # by name, from the search path
    assert "crash" in run("probe", ABI / "crash_on_load/libcrash_on_load.so", code=1)
    text = run("probe", ABI / "hangs_in_open/libhangs_in_open.so", "--timeout", 1000, code=1)
    assert "1000 ms" in text or "timeout" in text or "hung" in text
    assert "no such file" in run("probe", "/nowhere/x.so", code=1)
    assert "no plugin of that name" in run("probe", "nobody", code=1)


def test_ops():
    ops = {op["name"]: op for op in run_json("ops")}
    matmul = ops["matmul"]
    assert {"name", "version", "kind", "dtypes", "cases", "gradient", "kernels"} <= matmul.keys()
    assert matmul["kind"] == "primitive" and matmul["cases"] >= 1
    assert "f32" in matmul["dtypes"] and "bool" not in matmul["dtypes"]
    assert list(matmul["kernels"]) == ["sim"]
    assert ops["relu"]["kind"] == "composite"
    assert ops["equal"]["gradient"] == "none"
    assert list(ops) == sorted(ops)
    assert [op["name"] for op in run_json("ops", "exp", "log")] == ["exp", "log"]
    assert f"ops: {len(ops)} ops" in run("ops")
    assert '"nothing"' in run("ops", "nothing", code=1)


def test_ops_of_plugins_are_listed():
    ops = {op["name"]: op for op in run_json("ops", backends=ABI / "own_ops")}
    assert ops["toy.swish"]["plugin"] == "own_ops" and ops["toy.swish"]["gradient"] == "toy.swish_gradient"
    assert ops["toy.swish"]["attributes"][0]["default"] == "1"
    assert "9 defined by plugins" in run("ops", backends=ABI / "own_ops")
    assert "own_ops defines the ops toy.swish_second" in run("doctor", backends=ABI / "own_ops")
    call = run_json("explain", "toy.scale", "f32[2,3]", "f32[3]", backends=ABI / "own_ops")
    assert call["result"] == "f32[2, 3]" and [c["plugin"] for c in call["candidates"] if c["chosen"]] == ["own_ops"]
    assert "toy.orphan: gradient: there is no op toy.nobody" in run("doctor", backends=ABI / "unknown_gradient", code=1)


def test_explain():
    call = run_json("explain", "matmul", "f32[64,784]@sim:0", "f32[784,10]@sim:0")
    assert call["result"] == "f32[64, 10]"
    assert [c["plugin"] for c in call["candidates"] if c["chosen"]] == ["sim"]
    plain = run("explain", "matmul", "f32[64,784]", "f32[784,10]")
    assert "takes it" in plain and "reference" in plain
    summed = run_json("explain", "sum", "f32[4,5]", "--attr", "axes=1", "--attr", "keepdims=true")
    assert summed["result"] == "f32[4, 1]"


@pytest.mark.parametrize("arguments,words", [
    (["matmul", "f32[64,784]", "f32[78,10]"], ["matmul: ", "784", "78"]),
    (["matmul", "f33[2]", "f32[2]"], ["f33"]),
    (["matmul", "f32[2", "f32[2]"], ["f32[2"]),
    (["matmul", "f32[-1,2]", "f32[2,2]"], ["negative"]),
    (["matmul", "f32[2,2]@mars:0", "f32[2,2]"], ["mars"]),
    (["sum", "f32[2]", "--attr", "axis=0"], ["axis", "keepdims"]),
    (["sum", "f32[2]", "--attr", "axes=x"], ["'x'"]),
    (["permute", "f32[2]"], ["axes", "required"]),
    (["no_such_op"], ["no_such_op"]),
])
def test_explain_of_a_wrong_call(arguments, words):
    text = run("explain", *arguments, code=1)
    for word in words:
        assert word in text


def test_settings():
    listed = {s["name"]: s for s in run_json("settings")}
    assert listed["backends"]["value"] == str(SIM)
    assert listed["backends"]["origin"] == "environment"
    assert listed["trace"]["environment"] == "OARLOCK_TRACE"
    assert "OARLOCK_TRACE" in run("settings")


def test_replay_of_no_recording(tmp_path):
    log = tmp_path / "log"
    log.write_text("this is no recording")
    assert "oarlock:" in run("replay", log, SIM / "liboarlock_sim.so", code=1)
    run("replay", tmp_path / "missing", "sim", code=2)


def test_cts_prints_a_table_and_its_last_line(tmp_path):
    text = run("cts", "sim", "--level", "L0,L1", "--json", tmp_path / "out.json")
    report = json.loads((tmp_path / "out.json").read_text())
    total = report["passed"] + report["failed"]
    assert text.splitlines()[-1] == f"cts sim: {report['passed']} of {total} pass, {report['excluded']} excluded"
    assert total > 30 and report["failed"] == 0
    assert {t["level"] for t in report["tests"]} == {"L0", "L1"}


def test_cts_host_needs_no_plugin():
    report = run_json("cts", "host", "--ops", "add,relu", backends="")
    assert report["plugin"] == "host" and report["failed"] == 0 and report["passed"] > 20


def test_cts_names_a_wrong_op():
    assert "no_such_op" in run("cts", "host", "--ops", "no_such_op", code=1)


def test_usage():
    run(code=2)
    run("bogus", code=2)
    run("cts", code=2)
    run("cts", "host", "--level", "L9", code=2)
    help_text = run("--help")
    for command in ["doctor", "devices", "probe", "ops", "explain", "settings", "replay", "cts"]:
        assert command in help_text
        assert "--json" in run(command, "--help")
    assert run("--version").startswith("oarlock ")
