"""Saved programs and predictors in Python: equal to the layers they come from, and read by protobuf's own library."""

import json
import pathlib
import subprocess
import sys
import threading

import numpy as np
import oarlock
import pytest
from oarlock import inference, jit, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1D(3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = self.drop(self.norm(self.fc(x)))
        return {"scores": h, "chances": h.softmax(-1)}


@pytest.fixture
def saved(tmp_path):
    oarlock.set_seed(3)
    net = Net()
    jit.save(net, tmp_path / "net", [jit.InputSpec(["N", 4], name="x")])
    return net, tmp_path / "net.oarp"


def exact(path):
    return inference.Config(str(path)).delete_pass("fold_batch_norm")  # which rounds otherwise


def test_a_saved_layer_answers_as_itself(saved):
    net, path = saved
    assert net.training and net.drop.training, "its mode is as it was"
    program = jit.load(path)
    assert program.input_names == ["x"] and program.output_names == ["scores", "chances"]
    assert "batch_norm@" in program.text() and "dropout" not in program.text()
    predictor = inference.create_predictor(exact(path))
    net.eval()
    for n in (1, 5):
        x = np.random.rand(n, 4).astype("float32")
        want = net(oarlock.tensor(x))
        for got in (predictor.run([x]), predictor.run([oarlock.tensor(x)])):
            assert [y.tolist() for y in got] == [want["scores"].tolist(), want["chances"].tolist()]
    assert predictor.plan_memory()["plans"] == 2


def test_weights_are_those_of_the_save(saved, tmp_path):
    net, path = saved
    before = jit.load(path).parameters()["fc.weight"].tolist()
    with oarlock.no_grad():
        net.fc.weight.copy_(net.fc.weight * 2)
    assert jit.load(path).parameters()["fc.weight"].tolist() == before
    jit.save(net, tmp_path / "twice", [jit.InputSpec(["N", 4], name="x")])
    other = jit.load(path, tmp_path / "twice.safetensors").parameters()
    assert other["fc.weight"].tolist() == net.fc.weight.tolist()


def test_handles(saved):
    _, path = saved
    predictor = inference.create_predictor(inference.Config(str(path)).set_device("cpu").warm_up((2, 4)))
    clone = predictor.clone()
    x = np.ones((2, 4), "float32")
    for p, scale in ((predictor, 1), (clone, 2)):
        p.get_input_handle("x").copy_from_cpu(x * scale)
        assert p.run() is None
    a, b = (p.get_output_handle("scores") for p in (predictor, clone))
    assert a.shape() == (2, 3) and a.name() == "scores"
    assert a.copy_to_cpu().tolist() == predictor.run([x])[0].tolist()
    assert b.copy_to_cpu().tolist() == predictor.run([x * 2])[0].tolist()
    handle = predictor.get_input_handle("x")
    kept = x.copy()
    handle.copy_from_cpu(x)
    x[:] = 0
    predictor.run()
    assert predictor.get_output_handle("scores").copy_to_cpu().tolist() == predictor.run([kept])[0].tolist()


def test_many_threads_run_one_predictor(saved):
    net, path = saved
    net.eval()
    predictor = inference.create_predictor(exact(path))
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).random((seed % 5 + 1, 4), "float32")
        want = net(oarlock.tensor(x))["scores"].tolist()
        wrong.extend(i for i in range(50) if predictor.run([x])[0].tolist() != want)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_functions_and_captured_functions_are_saved_too(tmp_path):
    @jit.to_static(input_spec=[jit.InputSpec([None, 2])])
    def captured(x):
        return x * 3, x.sum()

    jit.save(captured, tmp_path / "f")
    program = jit.load(tmp_path / "f")
    assert program.input_names == ["x0"] and program.output_names == ["out0", "out1"]
    y, total = inference.create_predictor(inference.Config(program)).run([np.ones((2, 2), "float32")])
    assert y.tolist() == [[3, 3], [3, 3]] and total.item() == 4
    program = jit.export(lambda x: -x, [jit.InputSpec([2], "int64", "i")], output_names=["negative"])
    assert program.output_names == ["negative"]
    program.save(str(tmp_path / "again"))
    assert jit.load(tmp_path / "again.oarp").text() == program.text()


@pytest.mark.parametrize("call, part", [
    (lambda p, d: jit.load(d / "nowhere"), "nowhere.oarp"),
    (lambda p, d: p.run([np.ones((1, 4), "float32")] * 2), "takes 1 inputs (x), given 2"),
    (lambda p, d: p.run([np.ones((1, 4), "int32")]), "input x is i32, the program takes f32"),
    (lambda p, d: p.run([np.ones((1, 5), "float32")]), "axis 1 disagrees"),
    (lambda p, d: p.get_input_handle("y"), "no input is called y. There are: x"),
    (lambda p, d: p.clone().run(), "input x has no value"),
    (lambda p, d: inference.create_predictor(inference.Config(str(d / "net")).delete_pass("none")), "no pass is called none"),
    (lambda p, d: jit.export(Net()), "Give input_spec"),
    (lambda p, d: jit.export(Net(), [jit.InputSpec([2, 4], name="a b")]), "'a b'"),
    (lambda p, d: jit.export(Net(), [jit.InputSpec(["a b", 4])]), "'a b'"),
    (lambda p, d: jit.save(Net(), d / "no" / "folder", [jit.InputSpec([2, 4])]), "folder"),
])
def test_errors_say_what_to_do(saved, call, part):
    _, path = saved
    predictor = inference.create_predictor(inference.Config(str(path)))
    with pytest.raises((ValueError, OSError, RuntimeError)) as error:
        call(predictor, path.parent)
    assert part in str(error.value)


def test_damage_is_an_error(saved):
    _, path = saved
    whole = path.read_bytes()
    for n in range(0, len(whole), 7):
        path.write_bytes(whole[:n])
        with pytest.raises(oarlock.Error, match="net.oarp"):
            jit.load(path)


def test_protobufs_own_library_reads_the_file(saved, tmp_path):
    """protoc compiles the committed schema, Debian's protobuf reads what we wrote and writes it again; we read that."""
    _, path = saved
    schema = ROOT / "core/graph/form/program.proto"
    subprocess.run(["protoc", f"--proto_path={schema.parent}", f"--python_out={tmp_path}", schema.name], check=True)
    script = """
import json, pathlib, sys
from google.protobuf import json_format
sys.path.insert(0, sys.argv[2])
import program_pb2
p = program_pb2.Program()
p.ParseFromString(pathlib.Path(sys.argv[1]).read_bytes())
pathlib.Path(sys.argv[1]).write_bytes(p.SerializeToString())
print(json_format.MessageToJson(p, preserving_proto_field_name=True))
"""
    before = path.read_bytes()
    text = jit.load(path).text()
    out = subprocess.run(["/usr/bin/python3", "-c", script, str(path), str(tmp_path)], check=True, capture_output=True,
                         text=True).stdout
    p = json.loads(out)
    assert p["format"] == 1 and p["complete"] and p["name"] == "Net" and p["atoms"] == ["N"]
    ops = [p["ops"][n["op"] - 1]["name"] for n in p["body"]["nodes"]]
    assert "batch_norm" in ops and ops[-1] == "softmax"
    norm = p["body"]["nodes"][ops.index("batch_norm")]
    assert {a["name"]: a.get("flag", a.get("real")) for a in norm["attributes"]}["epsilon"] == pytest.approx(1e-5)
    assert [v["kind"] for v in p["values"]].count("state") == 6
    assert path.read_bytes() == before, "protobuf writes the very same bytes"
    assert jit.load(path).text() == text
