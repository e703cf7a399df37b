"""Every example in a docstring runs and gives what it says; every function has one."""

import doctest
import importlib

import oarlock
import pytest

MODULES = ["oarlock", "oarlock._creation", "oarlock._namespace", "oarlock.autograd", "oarlock._settings", "oarlock.callbacks",
           "oarlock.data", "oarlock.metric", "oarlock.nn", "oarlock.optim", "oarlock.vision"]


def run(name, docstring):
    globs = {"oarlock": oarlock}
    examples = doctest.DocTestParser().get_doctest(docstring, globs, name, None, 0)
    said = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=said.append)
    assert not failed, "".join(said)
    return tried


@pytest.mark.parametrize("op", oarlock.op_names())
def test_ops(op):
    for owner in (oarlock, oarlock.Tensor):
        f = getattr(owner, op, None)
        if owner is oarlock:
            assert f is not None
            assert f.__doc__ and run(op, f.__doc__) > 0


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module = importlib.import_module(name)
    run(name, module.__doc__ or "")
    for key, value in vars(module).items():
        if callable(value) and getattr(value, "__module__", None) == name and not key.startswith("_") and value.__doc__:
            run(f"{name}.{key}", value.__doc__)


def test_made_functions_of_data():
    for name in ("tensor", "asarray", "from_numpy", "from_dlpack", "empty", "full"):
        assert run(name, getattr(oarlock, name).__doc__) > 0


def test_public_functions_of_the_package_have_examples():
    for module in ("_creation", "_namespace"):
        for name, f in vars(importlib.import_module("oarlock." + module)).items():
            if getattr(f, "__module__", "") == "oarlock." + module and not name.startswith("_"):
                assert ">>> " in (f.__doc__ or ""), name
