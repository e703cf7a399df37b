import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api" / "gen" / "abi"))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def model():
    import parse
    return parse.parse(headers=["types.h", "plugin.h"])


@pytest.fixture
def tree(tmp_path, root):
    """A copy of the plugin's headers, its lock and the generated files, to be changed."""
    import shutil
    files = [root / "api/abi/oarlock/types.h", root / "api/abi/oarlock/plugin.h", root / "api/abi/lock/plugin.lock"]
    for path in files + sorted((root / "core/device/layer").glob("*.gen.*")):
        target = tmp_path / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


@pytest.fixture
def edit(tree):
    """edit(old, new): replaces text in the copy's plugin.h; the text must be there exactly once."""
    def change(old, new, header="plugin.h"):
        path = tree / "api" / "abi" / "oarlock" / header
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {header}"
        path.write_text(text.replace(old, new))
    return change
