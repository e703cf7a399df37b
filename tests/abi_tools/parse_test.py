"""The parser against facts read off plugin.h by eye."""
import describe
import measure
import parse
import pytest


def test_tables_and_their_functions(model):
    assert [t.name for t in model.tables] == [f"oar_{t}_table_t" for t in
                                              ("device", "memory", "stream", "pack", "kernel", "graph", "comm", "profiler")]
    memory = model.structs["oar_memory_table_t"]
    assert [f.name for f in memory.functions()] == ["alloc", "free", "copy", "fill", "pin", "unpin", "export_handle",
                                                    "import_handle", "import_release"]


def test_thread_marks(model):
    marks = {f"{s.tag}.{f.name}": f.type.function.mark for s in model.structs.values() for f in s.functions()}
    assert marks["oar_memory_table.copy"] == "one_thread"
    assert marks["oar_stream_table.event_sync"] == "may_block"
    assert marks["oar_stream_table.native"] == "quick"
    assert marks["oar_host.log"] == "any_thread"
    assert marks["oar_kernel_decl.launch"] == "one_thread"
    assert set(marks.values()) == describe.MARKS


def test_the_frozen_structs_are_those_the_header_names(model):
    assert sorted(s.name for s in model.structs.values() if s.frozen and s.header in ("types.h", "plugin.h")) == [
        "oar_attr_t", "oar_span_t", "oar_str_t", "oar_view_t"]


def test_values_of_enums_and_macros(model):
    constants = model.constants()
    assert constants["OAR_INTERNAL"] == -9
    assert constants["OAR_REASON_OTHER"] == 14
    assert constants["OAR_KERNEL_ANY_SHAPE"] == 16
    assert constants["OAR_COMM_RECV"] == 11
    assert model.macros["OAR_OUT_ROOM"] == 512
    assert "OAR_HAS" in model.macros


@pytest.fixture(scope="module")
def calls(model):
    layout = measure.measure(model, "gcc", parse.HEADERS, ["types.h", "plugin.h"])
    return {c.id: c for c in describe.calls(model, layout)}


def test_optional_functions(calls):
    optional = {c.id for c in calls.values() if c.optional}
    for name in ("device_native", "device_stats", "memory_pin", "memory_unpin", "memory_import_release", "stream_flush",
                 "stream_native", "stream_event_signal", "pack_stream_close", "kernel_launch_many", "graph_check_blob",
                 "graph_capture_end", "comm_split", "profiler_clock_sample", "kernel_decl_check"):
        assert name in optional, name
    for name in ("device_enumerate", "device_close", "memory_fill", "stream_event_create", "stream_event_sync", "pack_close",
                 "kernel_declarations", "graph_launch", "comm_async_error", "comm_abort", "profiler_drain"):
        assert name not in optional, name


def test_arguments(calls):
    alloc = {m.name: m for m in calls["memory_alloc"].args}
    assert alloc["stream"].nullable and alloc["stream"].handle == "stream"
    assert not alloc["device"].nullable and alloc["out_data"].out
    assert calls["kernel_declarations"].args[0].nullable
    many = calls["kernel_launch_many"].args
    assert [many[m.count].name for m in many if m.count >= 0] == ["n", "n", "n"]
    assert calls["kernel_declarations"].args[2].count == 1   # out_n
    assert calls["comm_submit"].args[1].record == "oar_collective_t"


def test_counts_inside_structs(model, calls):
    layout = measure.measure(model, "gcc", parse.HEADERS, ["types.h", "plugin.h"])
    records = describe.records(model, layout)

    def count(struct, field):
        members = records[struct]
        m = next(m for m in members if m.name == field)
        return members[m.count].name if m.count >= 0 else m.count
    assert count("oar_call_t", "inputs") == "n_inputs"
    assert count("oar_call_t", "epilogue") == "n_epilogue"
    assert count("oar_call_t", "attrs") == "n_attrs"
    assert count("oar_value_t", "shape") == "n_dims"
    assert count("oar_graph_t", "symbol_max") == "n_symbols"
    assert count("oar_region_t", "counts") == "n_dims"
    assert count("oar_kernel_decl_t", "dtypes") == "n_masks"
    assert count("oar_options_t", "values") == "n"
    assert count("oar_device_info_t", "spaces") == "n_spaces"
    assert count("oar_prepared_t", "inputs") == "n_inputs"
    assert count("oar_frame_t", "outputs") == "n_outputs"
    assert count("oar_frame_t", "call") == -1


def test_a_function_without_a_mark_is_refused(edit, tree):
    edit("  OAR_ONE_THREAD void (OAR_CALL *close)(oar_device_t* device);", "  void (OAR_CALL *close)(oar_device_t* device);")
    with pytest.raises(parse.ParseError, match="close has no thread mark"):
        parse.parse(tree / "api" / "abi")


def test_a_header_that_is_no_c_is_refused(edit, tree):
    edit("typedef struct oar_options {", "typedef strukt oar_options {")
    with pytest.raises(parse.ParseError):
        parse.parse(tree / "api" / "abi")
