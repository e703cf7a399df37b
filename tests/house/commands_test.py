"""The commands of ci/: honest exit codes, a deadline that names the slowest part, tables that read back."""

import subprocess
import sys
import time

import presets
import pytest
import results
import rings
from commands import test as test_command


def run(repo, *arguments):
    return subprocess.run([repo / "ci/dev", *arguments], capture_output=True, text=True, timeout=60)


def test_no_python_test_is_a_failure(repo):
    done = run(repo, "test", "--ring", "python", "--", "-k", "matches_nothing_at_all")
    assert done.returncode == 5 and "deselected" in done.stdout


def test_an_unbuilt_preset_is_a_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(presets, "build_dir", lambda preset: tmp_path)
    assert test_command.ctest("fast", "release", []) == 1
    assert "run ci/dev build --preset release" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nonsense"], ["build", "--preset", "nonsense"], ["test", "--ring", "nonsense"],
                                       ["check", "nonsense"], ["report", "nonsense"]])
def test_an_unknown_word_is_an_error(repo, arguments):
    done = run(repo, *arguments)
    assert done.returncode == 2 and "nonsense" in done.stderr


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """stand_in(script) puts a ci/dev of that bash text in the place of the real one."""
    def put(script):
        dev = tmp_path / "ci/dev"
        dev.parent.mkdir()
        dev.write_text("#!/usr/bin/env bash\n" + script)
        dev.chmod(0o755)
        monkeypatch.setattr(rings, "ROOT", tmp_path)

    return put


def run_rings(monkeypatch, listed, *arguments):
    monkeypatch.setattr(rings, "rings", lambda slow: listed)
    monkeypatch.setattr(sys, "argv", ["ci/test", *arguments])
    return rings.main()


def test_the_deadline_names_the_slowest_part(stand_in, monkeypatch, capfd):
    stand_in('echo "begin $1"; if [ "$1" = long ]; then sleep 60; fi\n')
    monkeypatch.setattr(rings, "LIMIT_S", 2)
    start = time.monotonic()
    code = run_rings(monkeypatch, [rings.Ring("first", [["short"], ["long"]]), rings.Ring("second", [["short"]])])
    out = capfd.readouterr().out
    assert code == 1 and time.monotonic() - start < 30
    assert "the slowest part was ci/dev long, " in out
    assert "second           0  not run" in out
    assert out.endswith("ci/test: 0 of 2 rings pass, 0 excluded\n")


def test_a_failed_ring_fails_the_whole_and_what_needs_it(stand_in, monkeypatch, capfd):
    stand_in('exit "$1"\n')
    code = run_rings(monkeypatch, [rings.Ring("build", [["5"], ["0"]]), rings.Ring("fast", [["0"]], needs="build"),
                                   rings.Ring("asan", [["0"]])])
    out = capfd.readouterr().out
    assert code == 1
    assert "build            0  failed, ci/dev 5 returned 5" in out
    assert "fast             0  not run, build failed, ci/dev 5 returned 5" in out
    assert "asan             0  passed" in out


def test_all_rings_passing(stand_in, monkeypatch):
    stand_in("exit 0\n")
    assert run_rings(monkeypatch, [rings.Ring("build", [["0"]]), rings.Ring("fast", [["0"]], needs="build")]) == 0


def test_a_table_reads_back(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    saved = results.save("speed", {"columns": ["case", "ns"], "rows": [["add", 12.345678], ["view", None]],
                                   "summary": "1 of 2 pass, 1 excluded"})
    assert saved == results.load("speed") and results.stored_names() == ["speed"]
    assert saved["rows"] == [["add", 12.345678], ["view", None]]
    lines = results.text(saved).splitlines()
    assert lines[:3] == ["case     ns", "add   12.35", "view"]
    assert lines[-1] == "speed: 1 of 2 pass, 1 excluded"
