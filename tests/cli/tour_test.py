"""The Tour of the README is what the program prints: file, line and words of every stop of one matmul."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("OARLOCK_BUILD", ROOT / "build"))


def stops():
    environment = {**os.environ, "OARLOCK_TRACE": "1", "OARLOCK_BACKENDS": str(BUILD / "lib/oarlock/backends")}
    ran = subprocess.run([str(BUILD / "bin/sample_matmul")], capture_output=True, text=True, check=True, env=environment)
    lines = [line for line in ran.stderr.splitlines() if line.startswith("oarlock trace: ")]
    return lines[:4]


def test_the_readme_shows_the_stops_as_they_are():
    readme = (ROOT / "README.md").read_text()
    shown = readme.split("<!-- tour:", 1)[1].split("```\n")[1].splitlines()
    assert shown == stops(), "put these lines into README.md's Tour:\n" + "\n".join(stops())


def test_each_stop_is_in_a_file_that_exists():
    files = [line.split()[2] for line in stops()]
    assert len(files) == 4
    assert files[0].startswith("api/src/c/") and files[-1].startswith("backends/")
    for place in files:
        file, line = place.split(":")
        assert int(line) <= len((ROOT / file).read_text().splitlines())
