"""Each kind of change to the header, made in a copy: the lock tells additions from breaks."""
import subprocess
import sys

import generate
import lock
import measure
import pytest

OPTIONS_END = "  const oar_str_t* values;\n  const oar_ext_t* ext;\n} oar_options_t;"


@pytest.fixture(autouse=True)
def one_compiler(monkeypatch):
    """What all compilers agree on, gcc knows; whether they do is tested apart."""
    monkeypatch.setattr(measure, "COMPILERS", {"gcc": ["gcc"]})
    monkeypatch.setattr(measure, "find_compilers", lambda: {"gcc": "gcc"})


ALL_COMPILERS = dict(measure.COMPILERS)
find_all_compilers = measure.find_compilers


def plugin_lock(tree):
    return generate.generate(tree, say=lambda _: None)["api/abi/lock/plugin.lock"]


@pytest.fixture
def change(tree, edit, root):
    """change(old, new) -> (additions, breaks) against the committed lock."""
    def apply(old, new, header="plugin.h"):
        edit(old, new, header)
        return lock.compare((root / "api/abi/lock/plugin.lock").read_text(), plugin_lock(tree))
    return apply


def test_no_change(tree, root):
    assert plugin_lock(tree) == (root / "api/abi/lock/plugin.lock").read_text()


def test_field_at_the_end(change):
    additions, breaks = change(OPTIONS_END, OPTIONS_END.replace("} oar", "  uint64_t added;\n} oar"))
    assert additions == ["oar_options_t.added: new at the end, uint64_t"]
    assert breaks == []


def test_function_at_the_end_of_a_table(change):
    additions, breaks = change("} oar_pack_table_t;", "  OAR_QUICK int (OAR_CALL *extra)(oar_pack_t* pack);\n} oar_pack_table_t;")
    assert additions == ["oar_pack_table_t.extra: new at the end, quick int (oar_pack_t* pack)"]
    assert breaks == []


def test_new_enum_value_and_struct(change):
    additions, breaks = change("enum { OAR_LOG_DEBUG = 0,",
                               "typedef struct oar_new { uint32_t struct_size; } oar_new_t;\nenum { OAR_LOG_TRACE = 9, OAR_LOG_DEBUG = 0,")
    # The nameless enum is called by its first constant, so it counts as another one.
    assert any("oar_new_t: new struct" in a for a in additions)
    additions, breaks = lock.compare("enum e\n  OAR_A = 0\n", "enum e\n  OAR_A = 0\n  OAR_B = 1\n")
    assert additions == ["OAR_B: new, 1"] and breaks == []


def test_inserted_field(change):
    additions, breaks = change("  const oar_str_t* names;\n", "  const oar_str_t* names;\n  uint64_t inserted;\n")
    assert "oar_options_t.inserted: inserted before the end" in breaks
    assert "oar_options_t.values: moved from byte 16 to 24" in breaks
    assert additions == []


def test_changed_type_of_the_same_size(change):
    _, breaks = change("  int64_t temperature_millicelsius;", "  uint64_t temperature_millicelsius;")
    assert breaks == ["oar_device_stats_t.temperature_millicelsius: type is now uint64_t, was int64_t"]


def test_changed_argument_type(change):
    _, breaks = change("oar_device_t* device, uint32_t queue, int32_t priority", "oar_device_t* device, uint32_t queue, uint32_t priority")
    assert len(breaks) == 1 and breaks[0].startswith("oar_stream_table_t.create: type is now")


def test_changed_thread_mark(change):
    _, breaks = change("OAR_ONE_THREAD void (OAR_CALL *close)(oar_device_t* device);",
                       "OAR_ANY_THREAD void (OAR_CALL *close)(oar_device_t* device);")
    assert breaks == ["oar_device_table_t.close: type is now any_thread void (oar_device_t* device), "
                      "was one_thread void (oar_device_t* device)"]


def test_reordered_enum(change):
    _, breaks = change("OAR_REASON_DTYPE, OAR_REASON_SHAPE,", "OAR_REASON_SHAPE, OAR_REASON_DTYPE,")
    assert sorted(breaks) == ["OAR_REASON_DTYPE: is now 4, was 3", "OAR_REASON_SHAPE: is now 3, was 4"]


def test_removed_field_and_renumbered_constant(change):
    _, breaks = change("  OAR_TIMEOUT = -4, OAR_CANCELLED = -5,", "  OAR_TIMEOUT = -4, OAR_CANCELLED = -15,", "types.h")
    assert breaks == ["OAR_CANCELLED: is now -15, was -5"]


def test_swapped_functions(change):
    _, breaks = change("  OAR_ANY_THREAD oar_status_t (OAR_CALL *pin)(oar_device_t* device, void* memory, uint64_t size_bytes);\n"
                       "  OAR_ANY_THREAD void (OAR_CALL *unpin)(oar_device_t* device, void* memory);\n",
                       "  OAR_ANY_THREAD void (OAR_CALL *unpin)(oar_device_t* device, void* memory);\n"
                       "  OAR_ANY_THREAD oar_status_t (OAR_CALL *pin)(oar_device_t* device, void* memory, uint64_t size_bytes);\n")
    assert "oar_memory_table_t: fields changed their order" in breaks


def test_frozen_structs_take_nothing(change):
    _, breaks = change("  uint64_t byte_offset, size_bytes;\n} oar_span_t;",
                       "  uint64_t byte_offset, size_bytes;\n  uint64_t more;\n} oar_span_t;", "types.h")
    assert "oar_span_t.more: added to a frozen struct" in breaks


def test_a_field_in_former_padding_is_a_break():
    old = "struct a size 16 align 8 first 16\n  0 4 struct_size : uint32_t\n  8 4 x : uint32_t\n"
    additions, breaks = lock.compare(old, old + "  12 4 y : uint32_t\n")
    assert additions == [] and "padding" in breaks[0]


def test_a_value_taken_twice_is_a_break():
    _, breaks = lock.compare("enum e\n  OAR_A = 1\n", "enum e\n  OAR_A = 1\n  OAR_B = 1\n")
    assert breaks == ["OAR_B: takes the value 1 of OAR_A"]


def run_lock(*args):
    done = subprocess.run([sys.executable, lock.__file__, *map(str, args)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_command(tmp_path, tree, edit, root):
    old, new = root / "api/abi/lock/plugin.lock", tmp_path / "new.lock"
    edit(OPTIONS_END, OPTIONS_END.replace("} oar", "  uint64_t added;\n} oar"))
    new.write_text(plugin_lock(tree))
    code, text = run_lock("--compare", old, new)
    assert code == 0 and "addition  oar_options_t.added" in text and "lock: 1 additions, 0 breaks" in text
    edit("  uint64_t workspace_alignment;", "  int64_t workspace_alignment;")
    new.write_text(plugin_lock(tree))
    code, text = run_lock("--compare", old, new)
    assert code == 1 and "break     oar_prepared_t.workspace_alignment" in text
    code, text = run_lock("--compare", old, new, "--draft")
    assert code == 0 and "allowed in a draft" in text
    frozen = tmp_path / "frozen.lock"
    frozen.write_text(old.read_text().replace("macro OAR_ABI_VERSION 1\n", "macro OAR_ABI_VERSION 100\n"))
    assert run_lock("--compare", frozen, new, "--draft")[0] == 1
    assert run_lock("--compare", old, tmp_path / "absent.lock")[0] == 2
    (tmp_path / "junk.lock").write_text("hello\n")
    assert run_lock("--compare", old, tmp_path / "junk.lock")[0] == 2


def test_check_finds_drift(tree, edit):
    def check():
        done = subprocess.run([sys.executable, generate.__file__, "--check", "--root", str(tree)], capture_output=True, text=True)
        return done.returncode, done.stdout
    code, text = check()
    assert code == 0, text
    path = tree / "core/device/layer/sizes.gen.h"
    path.write_text(path.read_text() + "// by hand\n")
    code, text = check()
    assert code == 1 and "core/device/layer/sizes.gen.h differs" in text
    edit("  uint64_t workspace_alignment;", "  int64_t workspace_alignment;")
    code, text = check()
    assert code == 1 and "api/abi/lock/plugin.lock differs" in text


def test_a_frozen_abi_refuses_breaks_and_keeps_first_sizes(tree, edit):
    edit("#define OAR_ABI_VERSION 1u ", "#define OAR_ABI_VERSION 100u ")
    path = tree / "api/abi/lock/plugin.lock"
    path.write_text(plugin_lock(tree))
    first = lock.first_sizes(path.read_text())["oar_options_t"]
    edit(OPTIONS_END, OPTIONS_END.replace("} oar", "  uint64_t added;\n} oar"))
    files = generate.generate(tree, say=lambda _: None)
    assert f"struct oar_options_t size {first + 8} align 8 first {first}\n" in files["api/abi/lock/plugin.lock"]
    assert f"kMin_oar_options_t = {first};" in files["core/device/layer/sizes.gen.h"]
    edit("  uint64_t workspace_alignment;", "  int64_t workspace_alignment;")
    with pytest.raises(ValueError, match="frozen.*workspace_alignment"):
        generate.generate(tree)


@pytest.mark.parametrize("label", [x for x in ALL_COMPILERS if x != "gcc"])
def test_compilers_agree(model, root, label):
    path = find_all_compilers(ALL_COMPILERS)[label]
    if path is None:
        pytest.skip(f"no {label} compiler")
    headers = ["types.h", "plugin.h"]
    mine = measure.measure(model, "gcc", root / "api/abi", headers)
    assert measure.measure(model, path, root / "api/abi", headers) == mine
    assert mine["sizeof(oar_view_t)"] == 64 and mine["offsetof(oar_view_t, byte_offset)"] == 40   # DLPack's DLTensor


def test_a_disagreement_is_named(model, monkeypatch):
    real = measure.measure

    def lying(m, compiler, *rest):
        got = real(m, compiler, *rest)
        return {**got, "sizeof(oar_call_t)": 1} if compiler == "/usr/bin/gcc" else got
    monkeypatch.setattr(measure, "measure", lying)
    monkeypatch.setattr(measure, "find_compilers", lambda: {"gcc": "gcc", "other": "/usr/bin/gcc"})
    import parse
    with pytest.raises(measure.MeasureError, match=r"sizeof\(oar_call_t\)"):
        measure.measure_all(model, parse.HEADERS, ["types.h", "plugin.h"])


def test_an_absent_compiler_costs_one_line(model, monkeypatch):
    import parse
    lines = []
    monkeypatch.setattr(measure, "COMPILERS", ALL_COMPILERS)
    monkeypatch.setattr(measure, "find_compilers", lambda: {"gcc": "gcc", "mingw": None})
    measure.measure_all(model, parse.HEADERS, ["types.h", "plugin.h"], lines.append)
    assert lines == ["layout: no mingw compiler here (x86_64-w64-mingw32-gcc), not compared"]
