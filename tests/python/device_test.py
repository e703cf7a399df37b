"""Several devices in one program: the host and sim, whose memory is its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

SIM = Path(__file__).resolve().parents[2] / "build/tests/sim"


def on_sim(code):
    """Runs code in a process that has loaded sim, since a plugin is never unloaded; its prints."""
    environment = dict(os.environ, OARLOCK_BACKENDS=str(SIM), PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, "-c", "import oarlock\n" + textwrap.dedent(code)], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_with_block_places_what_no_operand_places():
    assert on_sim("""
        with oarlock.device('sim'):
            made = [oarlock.zeros((2, 2)), oarlock.tensor([1, 2]), oarlock.full((2,), 7), oarlock.empty((2,)),
                    oarlock.arange(3), oarlock.randn(2), oarlock.asarray([1.0]), oarlock.eye(2),
                    oarlock.nn.Linear(2, 2).weight, oarlock.nn.BatchNorm1D(2).parameters()[0]]
            print({t.device.name for t in made}, oarlock.get_device())
            with oarlock.Device('cpu'):
                print(oarlock.zeros(2).device, oarlock.tensor([1]).device)
            print(made[2].tolist(), oarlock.tensor([1], device='cpu').device)
        print(oarlock.zeros(2).device, oarlock.get_device())
        oarlock.set_device('sim')
        print(oarlock.ones(2).device)
    """) == ["{'sim:0'} sim:0", "cpu cpu", "[7, 7] cpu", "cpu cpu", "sim:0"]


def test_an_error_inside_leaves_the_block_too():
    assert on_sim("""
        try:
            with oarlock.device('sim'):
                raise ValueError
        except ValueError:
            print(oarlock.get_device())
    """) == ["cpu"]


def test_operands_of_several_devices():
    assert on_sim("""
        here, there = oarlock.ones(3), oarlock.ones(3, device='sim')
        try:
            here + there
        except oarlock.Error as e:
            print('a is on cpu, b is on sim:0' in str(e), 'across_devices=allow' in str(e))
        oarlock.set_setting('across_devices', 'allow')
        here.requires_grad = True
        (here + 2 * there).sum().backward()
        print((here + there).device, here.grad.device, here.grad.tolist())
    """) == ["True True", "sim:0 cpu [1.0, 1.0, 1.0]"]


def test_placement_prints_as_a_table():
    lines = on_sim("""
        x = oarlock.ones((4, 4), device='sim')
        oarlock.reset_placement()
        oarlock.softmax(x, -1)
        x.to('cpu')
        report = oarlock.placement()
        print(isinstance(report, list), {r.route for r in report} >= {'kernel', 'decomposition', 'transfer'})
        print(sum(r.bytes for r in report))
        print(report)
    """)
    assert lines[:2] == ["True True", "64"]
    assert lines[2].split() == ["op", "device", "by", "calls", "why"]
    softmax = next(line for line in lines if line.startswith("softmax "))
    assert softmax.split()[1:4] == ["sim:0", "decomposition", "1"]
    assert lines[-1].startswith("calls: ")
