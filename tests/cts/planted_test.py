"""advise and bisect on plugins with a planted fault: what they must find, and that the C file they write fails with the
fault and passes without it. Needs the built tree; OARLOCK_BIN says where the program is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OARLOCK = Path(os.environ.get("OARLOCK_BIN", ROOT / "build/bin/oarlock"))
BUILD = OARLOCK.parent.parent
WRONG, DEVICE, MENDED = (BUILD / f"tests/abi/{name}/lib{name}.so" for name in ("wrong_tail", "wrong_tail_device", "mended_tail"))


def compiled(source, out):
    """The file of a C program, built with nothing but the public headers and the library."""
    library = next(BUILD.rglob("liboarlock.so")).parent
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "api/abi", source, "-L", library,
                    f"-Wl,-rpath,{library}", "-loarlock", "-lm", "-o", out], check=True)
    return out


def run(*words, **env):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, env={**os.environ, **env})


def oarlock(*words, codes=(0,), **env):
    """What `oarlock ... --json` prints."""
    done = run(OARLOCK, words[0], "--json", *words[1:], **env)
    assert done.returncode in codes, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(HERE / "planted.c", tmp_path_factory.mktemp("planted") / "planted")


@pytest.fixture(scope="module", params=["host", "device"])
def found(request, program, tmp_path_factory):
    """What bisect finds in a kernel for the host, and in one for a device of its own; with the C file."""
    file = tmp_path_factory.mktemp("bisect") / "case.c"
    plugin, arguments = (WRONG, []) if request.param == "host" else (DEVICE, ["--", "toy"])
    report = oarlock("bisect", program, plugin, "--out", file, *arguments, codes=(1,), OARLOCK_FALLBACK="warn")
    return plugin, report, file


def test_bisect_finds_the_first_wrong_call(found):
    _, report, _ = found
    assert report["found"]["call"].startswith("matmul(f32[24, 11], f32[11, 10])")
    assert "want" in report["found"]["wrong"]
    # Before it came three right ones, the products of 40 and of 32 terms and tanh.
    assert report["found"]["number"] == 4


def test_bisect_shrinks_to_the_fewest_terms_that_are_wrong(found):
    _, report, _ = found
    assert report["found"]["alone"]
    assert report["found"]["small"] == "matmul(f32[1, 5], f32[5, 1])"
    assert report["found"]["small_wrong"].startswith("element [0, 0] is 0, want 1")


def test_the_c_file_fails_with_the_fault_and_passes_without(found, tmp_path):
    plugin, _, file = found
    case = compiled(file, tmp_path / "case")
    with_fault = run(case)
    assert with_fault.returncode == 1, with_fault.stderr
    assert "element 0 is 0, want 1" in with_fault.stdout
    assert run(case, plugin).returncode == 1
    assert run(case, "none").returncode == 0
    if plugin == WRONG:
        assert run(case, MENDED).returncode == 0
    missing = run(case, "/nowhere/libnothing.so")
    assert missing.returncode == 2 and "/nowhere/libnothing.so" in missing.stdout


def test_bisect_of_a_right_plugin_finds_nothing(program, tmp_path):
    report = oarlock("bisect", program, MENDED, "--out", tmp_path / "case.c")
    assert report["found"] is None and report["unjudged"] == []
    assert report["looked_at"] == 4 * 4 + 1   # tanh and three products in each of four rounds, and a turned one
    assert not (tmp_path / "case.c").exists()


def test_bisect_reads_what_capture_wrote(program, tmp_path):
    capture = tmp_path / "calls"
    done = run(program, OARLOCK_BACKENDS=str(WRONG.parent), OARLOCK_CAPTURE=str(capture))
    assert done.returncode == 0, done.stderr
    report = oarlock("bisect", capture, WRONG, "--out", tmp_path / "case.c", codes=(1,))
    assert report["found"]["small"] == "matmul(f32[1, 5], f32[5, 1])"
    assert oarlock("bisect", capture, WRONG, "--ops", "tanh")["found"] is None
    damaged = tmp_path / "damaged"
    damaged.write_bytes(capture.read_bytes()[:3000])
    done = run(OARLOCK, "bisect", damaged, WRONG, "--ops", "tanh")
    assert done.returncode == 1 and "capture" in done.stderr


def test_bisect_of_a_program_that_dies(tmp_path):
    done = run(OARLOCK, "bisect", "/bin/false", WRONG)
    assert done.returncode == 2 and "exited with 1" in done.stdout
    assert "can't be run" in run(OARLOCK, "bisect", tmp_path / "nothing", WRONG).stderr


def advice(report):
    return {(a["op"], a["dtypes"], a["via"]): a for a in report["advice"]}


def test_advise_ranks_what_is_missing(program):
    report = oarlock("advise", program, WRONG)
    by = advice(report)
    assert report["in_kernels"] > 0
    assert by["gelu", "f32", "decomposition"]["reason"] == "no kernel is declared"
    assert by["gelu", "f32", "decomposition"]["calls"] == 4
    assert by["gelu", "f32", "decomposition"]["parts"]
    assert by["softmax", "f32", "decomposition"]["examples"][0].startswith("f32[24, 10]")
    # It has a kernel of matmul, which refused this: the reason is the plugin's.
    assert "f64" in by["matmul", "f64, f64", "reference"]["reason"]
    # It takes a turned matrix only after a copy.
    assert by["matmul", "f32, f32", "copies"]["calls"] == 1
    seconds = [a["seconds"] for a in report["advice"]]
    assert seconds == sorted(seconds, reverse=True) and min(seconds) > 0
    assert sum(a["share"] for a in report["advice"]) <= 1
    assert not [a for a in report["advice"] if a["op"] == "tanh"]


def test_advise_names_the_steps_that_fall_back_to_the_host(program):
    by = advice(oarlock("advise", program, DEVICE, "--", "toy"))
    gelu = by["gelu", "f32", "decomposition"]
    assert gelu["device"] == "toy:0" and {"erf", "multiply"} <= set(gelu["parts"])


def test_advise_runs_a_script_and_says_how_it_ended(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, oarlock\n"
                      "x = oarlock.tensor([[1.0, 2.0]], requires_grad=True)\n"
                      "oarlock.mse_loss(oarlock.tanh(x), x).backward()\n"
                      "sys.exit(int(sys.argv[1]))\n")
    where = {"PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(BUILD / "python")]))}
    words = ("advise", script, WRONG, "--python", sys.executable, "--")
    report = oarlock(*words, "0", **where)
    assert report["ended"] == ""
    assert "multiply" in {a["op"] for a in report["advice"]}
    assert oarlock(*words, "3", codes=(1,), **where)["ended"] == "it exited with 3"


def test_advise_says_when_nothing_was_called():
    done = run(OARLOCK, "advise", "/bin/true", WRONG)
    assert done.returncode == 1 and "no op" in done.stderr
