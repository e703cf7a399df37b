"""oarlock.ops: the ops of plugins, by vendor and name. The plugin is one of tests/abi, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import oarlock
import pytest

PACKAGE = Path(oarlock.__file__).parent
PLUGIN = PACKAGE.parents[1] / "tests/abi/own_ops"

pytestmark = pytest.mark.skipif(not PLUGIN.is_dir(), reason="the package lies in no build tree")


def run(code):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "OARLOCK_BACKENDS": str(PLUGIN)}
    done = subprocess.run([sys.executable, "-c", "import math, oarlock\n" + code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_calls_with_positions_keywords_and_defaults():
    run("""
swish = oarlock.ops.toy.swish
x = oarlock.tensor([1.0, -2.0])
want = [v / (1 + math.exp(-2 * v)) for v in (1.0, -2.0)]
for y in (swish(x, 2.0), swish(x, beta=2), swish(x=x, beta=2.0)):
    assert all(abs(a - b) < 1e-6 for a, b in zip(y.tolist(), want)), y
assert abs(swish(oarlock.tensor(1.0)).item() - 1 / (1 + math.exp(-1))) < 1e-6
two = oarlock.ops.toy.scale_gradient(oarlock.ones((2, 3)), oarlock.ones(3), oarlock.ones((2, 3)))
assert [t.shape for t in two] == [(2, 3), (3,)]
""")


def test_gradients_of_first_and_second_order():
    run("""
x = oarlock.tensor(0.5, requires_grad=True)
y = oarlock.ops.toy.swish(x)
(g,) = oarlock.grad(y, x, create_graph=True)
(h,) = oarlock.grad(g, x)
s = 1 / (1 + math.exp(-0.5))
t = s * (1 - s)
assert abs(g.item() - (s + 0.5 * t)) < 1e-6 and abs(h.item() - (2 * t + 0.5 * t * (1 - 2 * s))) < 1e-6
""")


def test_are_found_by_dir_and_described():
    out = run("""
print(dir(oarlock.ops), dir(oarlock.ops.toy), oarlock.ops.toy.swish)
print(oarlock.ops.toy.swish.__doc__)
import pickle
assert pickle.loads(pickle.dumps(oarlock.ops.toy.swish)).__qualname__ == "toy.swish"
assert oarlock.plugins()[0].ops.count("toy.swish") == 1
assert oarlock.op_info("toy.swish").gradient == "toy.swish_gradient(x, grad y) -> (grad x)"
""")
    assert out.startswith("['toy'] ['largest', ") and "<op toy.swish(x: T [...], beta: real = 1 >= 0)" in out
    assert "Defined by the plugin own_ops." in out


@pytest.mark.parametrize("code,error", [
    ("oarlock.ops.nobody", "AttributeError: no loaded plugin defines ops of a vendor 'nobody'; there are toy"),
    ("oarlock.ops.toy.nothing", "AttributeError: there is no op toy.nothing; toy has largest"),
    ("oarlock.ops.toy.swish()", "takes 1 operands, given 0"),
    ("oarlock.ops.toy.swish(oarlock.ones(2), 1, 2)", "takes 2 arguments (x, beta), given 3"),
    ("oarlock.ops.toy.swish(oarlock.ones(2), x=1)", "x is given twice"),
    ("oarlock.ops.toy.swish(oarlock.ones(2), gamma=1)", "there is no attribute 'gamma'"),
    ("oarlock.ops.toy.swish(oarlock.ones(2), beta='a')", "beta is a str"),
    ("oarlock.ops.toy.swish(oarlock.ones(2), beta=-1)", "needs at least 0"),
    ("oarlock.ops.toy.pairs(oarlock.ones(3))", "3 elements make no pairs"),
])
def test_says_what_is_wrong(code, error):
    out = run(f"""
try:
    {code}
except Exception as e:
    print(type(e).__name__ + ": " + str(e))
""")
    assert error in out, out


def test_nothing_is_there_without_a_plugin():
    assert dir(oarlock.ops) == []
    with pytest.raises(AttributeError, match="there are none"):
        oarlock.ops.acme
