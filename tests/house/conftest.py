"""Tests of the house itself: its checks, its commands, its build. They see ci/ as ci/dev does."""

import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "ci"))


@pytest.fixture(scope="session")
def repo():
    return REPO


@pytest.fixture
def plant(tmp_path):
    """plant(path, text) writes a file into a small tree and returns that tree's root."""
    def write(path, text=""):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return tmp_path

    return write
