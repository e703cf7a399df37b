"""The table of twins."""

import importlib

import twin

MODULES = ("elementwise", "reductions", "shapes", "indices", "creation", "networks", "gradients", "draws", "optimisers")


def load():
    """All twins: importing a module adds its own."""
    for name in MODULES:
        importlib.import_module("twins." + name)
    return twin.TWINS
