"""What CMakePresets.json says, for the commands that build and test."""

import json
import os

from tree import ROOT


def _all(root=ROOT):
    return {p["name"]: p for p in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]}


def names(root=ROOT):
    return [name for name, preset in _all(root).items() if not preset.get("hidden")]


def cache_variables(name, root=ROOT):
    """Cache variables of a preset, those it inherits included."""
    presets = _all(root)
    preset = presets[name]
    inherits = preset.get("inherits", [])
    merged = {}
    for parent in reversed([inherits] if isinstance(inherits, str) else inherits):
        merged.update(cache_variables(parent, root))
    merged.update(preset.get("cacheVariables", {}))
    return merged


def build_dir(name, root=ROOT):
    return root / _all(root)[name]["binaryDir"].removeprefix("${sourceDir}/")


def environment(name, root=ROOT):
    """The environment that programs of this preset run in, as its test preset states it."""
    tests = json.loads((root / "CMakePresets.json").read_text())["testPresets"]
    added = next((t.get("environment", {}) for t in tests if t["name"] == name), {})
    return {**os.environ, **added}
