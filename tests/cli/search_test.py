"""Search paths that try the loader's patience: many files, files that go away, copies, elevated privilege."""

import json
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("OARLOCK_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin/oarlock"
GOOD = BUILD / "tests/abi/good_pack/libgood_pack.so"


def doctor(folder):
    environment = {**os.environ, "OARLOCK_BACKENDS": str(folder)}
    ran = subprocess.run([str(PROGRAM), "doctor", "--json"], capture_output=True, text=True, env=environment, timeout=60)
    plugins = json.loads(ran.stdout)["plugins"]
    return {Path(p["path"]).name: p for p in plugins}


def test_a_thousand_files_in_the_path(tmp_path):
    for i in range(1000):
        (tmp_path / f"p{i:04}.so").write_text("no plugin")
    shutil.copy(GOOD, tmp_path / "zz_good.so")
    begin = time.monotonic()
    found = doctor(tmp_path)
    assert time.monotonic() - begin < 30
    assert len(found) == 1001
    assert found["zz_good.so"]["state"] == "loaded"
    assert all("no ELF header" in found[f"p{i:04}.so"]["reason"] for i in range(1000))


def test_a_file_that_went_away_is_a_reason(tmp_path):
    (tmp_path / "gone.so").symlink_to(tmp_path / "was_here")
    shutil.copy(GOOD, tmp_path / "good.so")
    found = doctor(tmp_path)
    assert "can't be found" in found["gone.so"]["reason"]
    assert found["good.so"]["state"] == "loaded"


def test_of_two_copies_the_first_is_loaded(tmp_path):
    shutil.copy(GOOD, tmp_path / "a.so")
    shutil.copy(GOOD, tmp_path / "b.so")
    found = doctor(tmp_path)
    assert found["a.so"]["state"] == "loaded"
    assert "is loaded already, from" in found["b.so"]["reason"] and "a.so" in found["b.so"]["reason"]


def test_every_misbehaving_plugin_in_one_path_stops_no_other():
    folders = [d for d in sorted((BUILD / "tests/abi").iterdir())
               if d.is_dir() and d.name not in ("crash_on_load", "crash_in_query", "hangs_in_open") and list(d.glob("*.so"))]
    assert len(folders) > 12
    found = doctor(":".join(map(str, folders)))
    assert found["libgood_pack.so"]["state"] == "loaded"
    assert found["libolder.so"]["state"] == "loaded"
    assert found["libnewer.so"]["state"] == "loaded"
    for name in ("liar", "abi_zero", "table_zero", "future", "missing_function", "world_writable", "foreign_arch", "truncated", "not_elf"):
        assert found[f"lib{name}.so"]["state"] != "loaded" and found[f"lib{name}.so"]["reason"], name


def test_the_environment_is_ignored_under_elevated_privilege(tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv to make a set-user-id program")
    folder = Path("/var/tmp") / f"oarlock-elevated-{os.getpid()}"
    folder.mkdir()
    try:
        folder.chmod(0o755)
        program = folder / "oarlock"
        shutil.copy(PROGRAM, program)
        shutil.copy(BUILD / "lib/liboarlock.so.0", folder / "liboarlock.so.0")
        program.chmod(0o4755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("this file system ignores set-user-id bits")
        environment = {"PATH": os.environ["PATH"], "OARLOCK_KERNEL_CACHE": "77", "OARLOCK_BACKENDS": str(GOOD.parent)}
        command = [str(program), "settings", "--json"]
        plain = subprocess.run(command, capture_output=True, text=True, env=environment)
        if plain.returncode != 0:
            pytest.skip("the copied program does not find its library: " + plain.stderr[:200])

        def cache(ran):
            return next(s for s in json.loads(ran.stdout) if s["name"] == "kernel_cache")

        assert cache(plain)["origin"] == "environment"
        raised = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", *command], capture_output=True, text=True, env=environment)
        assert raised.returncode == 0, raised.stderr
        assert cache(raised)["origin"] == "default"
        assert stat.S_ISUID & program.stat().st_mode
    finally:
        shutil.rmtree(folder)
