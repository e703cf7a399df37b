"""The kit against plugins that are known to be wrong: what it must find, and that neither a crash nor a hang of theirs
is one of its own. Needs the built tree; OARLOCK_BIN says where the program is."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OARLOCK = Path(os.environ.get("OARLOCK_BIN", ROOT / "build/bin/oarlock"))
BUILD = OARLOCK.parent.parent
ABI = BUILD / "tests/abi"
SIM = BUILD / "tests/sim/liboarlock_sim.so"


def cts(plugin, *arguments, env=None):
    """Runs the kit; its exit code and its results by "level name"."""
    done = subprocess.run([OARLOCK, "cts", str(plugin), *arguments, "--json"], capture_output=True, text=True,
                          timeout=300, env={**os.environ, **(env or {})})
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    return done.returncode, {f"{t['level']} {t['name']}": t for t in report["tests"]}, report


def failures(tests):
    return {name: t["reason"] for name, t in tests.items() if t["outcome"] == "failed"}


# What of tests/abi fails where, and a word of the reason.
FAULTS = [
    ("crash_on_load", "L0 loads", "crashed"),
    ("crash_in_query", "L0 query", "crashed"),
    ("query_without_answer", "L0 query", "no oar_plugin_t"),
    ("liar", "L0 query", "1 to 3"),
    ("no_note", "L0 note", "OAR_PLUGIN_NOTE"),
    ("abi_zero", "L0 note", "0 to 0"),
    ("future", "L0 note", "101"),
    ("table_zero", "L0 negotiation", "version 0"),
    ("exports_too_much", "L0 one exported symbol", "oar_extra_function"),
    ("undefined_symbol", "L0 loads", "oar_test_nobody_defines_this"),
    ("missing_function", "L0 required functions", "memory.alloc"),
    ("world_writable", "L0 file", "chmod"),
    ("foreign_arch", "L0 file", "ELF machine"),
    ("truncated", "L0 file", "shorter than its segments"),
    ("not_elf", "L0 file", "no ELF file"),
]


@pytest.mark.parametrize("plugin,test,word", FAULTS, ids=[f[0] for f in FAULTS])
def test_finds(plugin, test, word):
    code, tests, _ = cts(ABI / plugin / f"lib{plugin}.so", "--level", "L0")
    assert code == 1
    assert tests[test]["outcome"] == "failed"
    assert word in tests[test]["reason"]


def test_a_failed_gate_skips_the_rest():
    _, tests, _ = cts(ABI / "crash_on_load/libcrash_on_load.so")
    assert list(failures(tests)) == ["L0 loads"]
    assert tests["L2 load"]["outcome"] == "skipped"
    assert "loads" in tests["L2 load"]["reason"]


def test_wrong_answers_fail():
    code, tests, _ = cts(ABI / "wrong_answer/libwrong_answer.so", "--level", "L2", "--ops", "tanh")
    assert code == 1
    assert "want" in failures(tests)["L2 tanh T=f32"]


def test_a_failing_launch_fails_with_its_text():
    code, tests, _ = cts(ABI / "fails_in_launch/libfails_in_launch.so", "--level", "L2", "--ops", "tanh")
    assert code == 1
    assert "L2 tanh T=f32" in failures(tests)


def test_ops_of_the_plugin_are_called_and_differentiated():
    code, tests, _ = cts(ABI / "own_ops/libown_ops.so", "--level", "L2", "--ops", "toy.swish", "--ops", "toy.scale", "--ops",
                         "toy.swish_second")
    assert code == 0 and failures(tests) == {}
    assert tests["L2 toy.swish calls"]["outcome"] == tests["L2 toy.swish gradient"]["outcome"] == "passed"
    assert tests["L2 toy.scale gradient"]["outcome"] == "passed"
    assert "excluded: only kernels of own_ops" in tests["L2 toy.swish elsewhere"]["reason"]
    assert "no gradient" in tests["L2 toy.swish_second gradient"]["reason"]
    assert len(tests) == 10  # load, and three of each; none of our own ops
    _, tests, _ = cts(ABI / "own_ops/libown_ops.so", "--level", "L2", "--cases", "1")
    assert "L2 toy.pairs calls" in tests and "L2 exp T=f32" in tests


def test_a_wrong_gradient_of_the_plugins_own_op_fails():
    code, tests, _ = cts(ABI / "lying_infer/liblying_infer.so", "--level", "L2", "--ops", "toy.lie")
    assert code == 1
    assert "L2 toy.lie gradient" in failures(tests)


def test_a_good_pack_passes():
    code, tests, report = cts(ABI / "good_pack/libgood_pack.so", "--ops", "tanh")
    assert failures(tests) == {}
    assert code == 0
    assert tests["L2 tanh T=f32"]["outcome"] == "passed"
    assert report["passed"] + report["failed"] + report["excluded"] == len(tests)


def test_a_hang_is_a_failure_and_the_rest_goes_on():
    code, tests, _ = cts(ABI / "hangs_in_open/libhangs_in_open.so", "--level", "L0", "--timeout", "1000")
    assert code == 1
    hung = [name for name, reason in failures(tests).items() if reason.startswith("hung")]
    assert hung and len(hung) <= 3
    assert tests["L0 negotiation"]["outcome"] == "passed"


def test_sims_faults_are_found():
    code, tests, _ = cts(SIM, "--level", "L2", "--ops", "exp", env={"OARLOCK_SIM_FAULT": "fail:1+"})
    assert code == 1
    assert "L2 exp T=f32" in failures(tests)


# What odd_graph does when told to, where the kit finds it, and a word of the reason.
ODD_GRAPHS = [
    ("overlaps", "claims", "takes node 0 twice"),
    ("out_of_range", "claims", "takes node 3 of 3"),
    ("names_one_twice", "claims", "takes node 0 twice"),
    ("too_many", "claims", "a group of more nodes than there are"),
    ("takes_what_it_can_not_read", "claims", "which its table does not list"),
    ("floods", "claims", "more often than there are nodes"),
    ("refuses", "claims", "does not say why"),
    ("fails_in_claim", "claims", "the compiler is not installed"),
    ("compile_fails", "each op", "the compiler ran out of memory"),
    ("compile_refuses_silently", "each op", "refuses without a reason"),
    ("compile_writes_struct_size", "each op", "struct_size is 3"),
    ("compile_wants_a_huge_workspace", "each op", "bytes of scratch"),
    ("compile_wants_another_space", "each op", "another space"),
    ("compile_wants_a_layout_of_its_own", "each op", "a layout of its own"),
    ("compile_overlaps_strides", "each op", "gaps or overlap"),
    ("compile_leaves_out_an_input", "each op", "leaves out inputs"),
    ("wrong", "each op", "want"),
]


@pytest.mark.parametrize("mode,test,word", ODD_GRAPHS, ids=[g[0] for g in ODD_GRAPHS])
def test_odd_graph_tables_are_found(mode, test, word):
    code, tests, _ = cts(ABI / "odd_graph/libodd_graph.so", "--level", "L3", env={"OARLOCK_ODD_GRAPH": mode})
    assert code == 1
    assert word in failures(tests)[f"L3 {test}"]


def test_a_graph_table_that_takes_node_by_node_passes():
    code, tests, _ = cts(ABI / "odd_graph/libodd_graph.so", "--level", "L3", env={"OARLOCK_ODD_GRAPH": "each"})
    assert code == 0, failures(tests)
    assert tests["L3 each op"]["numbers"]["compiled"] > 0


def test_without_a_graph_table_level_3_is_one_reason():
    _, tests, _ = cts(SIM, "--level", "L3")
    assert {(t["outcome"], t["reason"]) for t in tests.values()} == {("skipped", "the plugin offers no graph table")}


def test_the_same_seed_makes_the_same_calls():
    runs = [cts("host", "--ops", "matmul", "--level", "L2", "--seed", "7")[1] for _ in range(2)]
    strip = [{name: (t["outcome"], t["reason"]) for name, t in tests.items()} for tests in runs]
    assert strip[0] == strip[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_sim_passes_for_many_seeds(seed):
    code, tests, _ = cts(SIM, "--seed", str(seed + 1), env={"OARLOCK_SIM_SEED": str(seed)})
    assert failures(tests) == {}
    assert code == 0
