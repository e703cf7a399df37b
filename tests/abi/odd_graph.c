/* A compiler of graphs for the host, exp and add of f32, that does wrong what the variable OARLOCK_ODD_GRAPH names at the
 * time. Without it, it claims nothing. */
#include <math.h>
#include <stdlib.h>

#include "kit.h"

struct oar_pack {
  const oar_host_t* host;
};

static bool mode(const char* name) {
  const char* text = getenv("OARLOCK_ODD_GRAPH");
  return text != NULL && strcmp(text, name) == 0;
}

static oar_status_t OAR_CALL pack_open(const oar_host_t* host, const oar_device_ref_t* device,
                                       const oar_options_t* options, oar_pack_t** out_pack) {
  (void)options;
  if (!oar_kit_str_is(device->info->kind, "cpu")) return OAR_REFUSED;
  oar_pack_t* pack = malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "no memory for a pack");
  pack->host = host;
  *out_pack = pack;
  return OAR_OK;
}
static void OAR_CALL pack_close(oar_pack_t* pack) { free(pack); }
static const oar_pack_table_t pack_table = {
    .struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};

/* ---------------------------------------------------------------- Claim */
static const oar_op_range_t exp_range = {sizeof(oar_op_range_t), 1, 1, 0, OAR_STR("exp"), OAR_BIT(OAR_DTYPE_F32)};
static const oar_op_range_t add_range = {sizeof(oar_op_range_t), 1, 1, 0, OAR_STR("add"), OAR_BIT(OAR_DTYPE_F32)};
static const oar_op_range_t* const ranges[] = {&exp_range, &add_range};

static bool reads(const oar_call_t* call) {
  return (oar_kit_str_is(call->op, "exp") || oar_kit_str_is(call->op, "add")) &&
         call->inputs[0]->dtype == OAR_DTYPE_F32;
}

static oar_status_t OAR_CALL graph_claim(oar_pack_t* pack, const oar_graph_t* graph, const oar_claim_sink_t* sink) {
  uint32_t list[64], n = 0, first = 0;
  const char* text = getenv("OARLOCK_ODD_GRAPH");
  if (text == NULL) return OAR_OK;
  if (mode("fails_in_claim")) return oar_kit_error(pack->host, OAR_INTERNAL, 7, "the compiler is not installed");
  for (uint32_t i = 0; i < graph->n_nodes && n < 64; ++i)
    if (reads(graph->nodes[i])) list[n++] = i;
  if (n == 0) return OAR_OK;
  first = list[0];
  if (mode("overlaps")) {
    sink->take(sink, 1, &first, 10);
    sink->take(sink, n, list, 10);
  } else if (mode("out_of_range")) {
    uint32_t far[] = {first, graph->n_nodes};
    sink->take(sink, 2, far, 10);
  } else if (mode("names_one_twice")) {
    uint32_t twice[] = {first, first};
    sink->take(sink, 2, twice, 10);
  } else if (mode("too_many")) {
    sink->take(sink, UINT32_MAX, list, 10);
  } else if (mode("takes_what_it_can_not_read")) {
    for (uint32_t i = 0; i < graph->n_nodes; ++i)
      if (!reads(graph->nodes[i])) sink->take(sink, 1, &i, 10);
  } else if (mode("floods")) {
    for (int i = 0; i < 100000; ++i) {
      sink->take(sink, 1, &first, 10);
      sink->refuse(sink, graph->n_nodes + 5, 1000, exp_range.op);
    }
  } else if (mode("refuses")) {
    sink->refuse(sink, first, OAR_REASON_SHAPE, (oar_str_t){NULL, 0});
  } else if (mode("each")) {
    for (uint32_t i = 0; i < n; ++i) sink->take(sink, 1, &list[i], 10);
  } else if (strncmp(text, "compile_", 8) == 0) {
    sink->take(sink, 1, &first, 10);
  } else { /* all as one, whatever lies between */
    sink->take(sink, n, list, 10);
  }
  return OAR_OK;
}

/* ---------------------------------------------------------------- Compile */
static uint32_t n_states;

static oar_status_t OAR_CALL graph_compile(oar_pack_t* pack, const oar_graph_t* graph, const oar_options_t* options,
                                           oar_prepared_t* out_prepared) {
  (void)options;
  if (mode("compile_fails")) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 12, "the compiler ran out of memory");
  if (mode("compile_refuses"))
    return oar_kit_refuse(out_prepared->verdict, OAR_REASON_MEMORY, -1, "it has grown too large");
  if (mode("compile_refuses_silently")) return OAR_REFUSED;
  if (graph->n_nodes != 1 || !oar_kit_str_is(graph->nodes[0]->op, "exp"))
    return oar_kit_refuse(out_prepared->verdict, OAR_REASON_OP, -1, "only a single exp is compiled");
  int64_t* state = malloc(sizeof(*state));
  if (state == NULL) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "no memory for a program");
  ++n_states;
  *state = oar_kit_count(graph->outputs[0]->n_dims, graph->outputs[0]->shape);
  out_prepared->state = state;
  oar_choice_t* out = out_prepared->outputs[0];
  if (mode("compile_writes_struct_size")) out_prepared->struct_size = 3;
  if (mode("compile_outgrows_the_room")) out_prepared->struct_size = OAR_OUT_ROOM + 8;
  if (mode("compile_wants_a_huge_workspace")) out_prepared->workspace_bytes = (uint64_t)1 << 62;
  if (mode("compile_wants_a_crooked_workspace")) out_prepared->workspace_alignment = 3;
  if (mode("compile_wants_another_space")) out->space = 1;
  if (mode("compile_wants_a_layout_of_its_own")) out->layout = OAR_LAYOUT_OPAQUE;
  if (mode("compile_overlaps_strides") && graph->outputs[0]->n_dims > 0) out->strides[0] = 0;
  if (mode("compile_wants_a_crooked_operand")) out->alignment = 48;
  if (mode("compile_leaves_out_an_input")) out_prepared->unread_inputs = 1;
  if (mode("compile_turns_the_output") && graph->outputs[0]->n_dims == 2) {
    out->strides[0] = 1;
    out->strides[1] = graph->outputs[0]->shape[0];
  }
  return OAR_OK;
}

static oar_status_t OAR_CALL graph_launch(void* state, const oar_frame_t* frame) {
  const float* x = oar_kit_view_data(frame->inputs[0]);
  float* out = oar_kit_view_data(frame->outputs[0]);
  float factor = mode("wrong") ? 1.001f : 1;
  for (int64_t i = 0; i < *(const int64_t*)state; ++i) out[i] = factor * expf(x[i]);
  return OAR_OK;
}

/* Aborts on a state that it did not make, or has released. */
static void OAR_CALL graph_release(void* state) {
  if (n_states-- == 0) abort();
  free(state);
}

static const oar_graph_table_t graph_table = {.struct_size = sizeof(graph_table),
                                              .version = OAR_GRAPH_VERSION,
                                              .n_ops = sizeof(ranges) / sizeof(ranges[0]),
                                              .ops = ranges,
                                              .claim = graph_claim,
                                              .compile = graph_compile,
                                              .launch = graph_launch,
                                              .release = graph_release};

OAR_KIT_PLUGIN("odd_graph", "Oarlock tests", "1.0", {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_GRAPH, &graph_table})
