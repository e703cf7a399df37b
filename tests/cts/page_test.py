"""api/docs/conformance-kit.md: the commands that it shows are ones that the program takes, and what it promises of files and
settings exists. Needs the built tree; OARLOCK_BIN says where the program is."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OARLOCK = Path(os.environ.get("OARLOCK_BIN", ROOT / "build/bin/oarlock"))
PAGE = (ROOT / "api/docs/conformance-kit.md").read_text()
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def output(*words):
    done = subprocess.run([OARLOCK, *words], capture_output=True, text=True, timeout=120)
    return done.stdout


def ours():
    return [command for command in COMMANDS if command.startswith("oarlock ")]


@pytest.mark.parametrize("command", ours())
def test_the_program_takes_what_the_page_shows(command):
    name, *words = shlex.split(command)[1:]
    own = words[:words.index("--")] if "--" in words else words
    help_text = output(name, "--help")
    for word in own:
        if word.startswith("--"):
            assert re.search(rf"{word}\b", help_text), f"{name} has no {word}"


def test_every_level_is_in_the_table():
    levels = set(re.findall(r"\b(L0|L1|L2|L3|M|P)\b", output("cts", "--help").split("Levels:")[1]))
    assert levels == set(re.findall(r"^\| (L0|L1|L2|L3|M|P) \|", PAGE, re.MULTILINE))


def test_settings_that_it_names_exist():
    known = output("settings")
    for name in re.findall(r"OARLOCK_([A-Z_]+)", PAGE):
        assert re.search(rf"\b{name.lower()}\b", known), name


def test_the_marks_of_the_coverage_are_those_of_the_page(tmp_path):
    page = tmp_path / "report.html"
    subprocess.run([OARLOCK, "cts", "host", "--level", "L2", "--ops", "tanh,add", "--html", page], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    html = page.read_text()
    assert "<script" not in html and "http" not in html and "src=" not in html   # needs nothing else
    assert "tanh of f32" in html
    looks = (ROOT / "api/cts/html.cc").read_text()
    for mark in re.findall(r"^\| ([KkRDF]) \|", PAGE, re.MULTILINE):
        assert f'"{mark}", "' in looks
