/* @NAME@ - a compiler of graphs for the host CPU, without kernels. It reads one op, exp of f32, takes each such node as a
 * group of its own, and makes of it a state that launch runs.
 *
 * Yours: claim whatever the compiler can take, as large as it can; what comes back to compile is a group you claimed. */
#include <math.h>
#include <stdlib.h>

#include "kit.h"

struct oar_pack {
  const oar_host_t* host;
};

typedef struct graph_state {
  int64_t count; /* Yours: the compiled program */
} graph_state_t;

static oar_status_t OAR_CALL pack_open(const oar_host_t* host, const oar_device_ref_t* device,
                                       const oar_options_t* options, oar_pack_t** out_pack) {
  if (!oar_kit_str_is(device->info->kind, "cpu")) return OAR_REFUSED;
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_pack_t* pack = (oar_pack_t*)malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "@NAME@: no memory for a pack");
  pack->host = host;
  *out_pack = pack;
  return OAR_OK;
}

static void OAR_CALL pack_close(oar_pack_t* pack) { free(pack); }

static const oar_pack_table_t pack_table = {
    .struct_size = sizeof(pack_table), .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};

/* ---------------------------------------------------------------- Graph */
static const oar_op_range_t exp_range = {sizeof(oar_op_range_t), 1, 1, 0, OAR_STR("exp"),
                                         OAR_BIT(OAR_DTYPE_F32)}; /* versions 1 to 1 */
static const oar_op_range_t* const ranges[] = {&exp_range};

/* Looks and takes. Nodes of other ops are shown, but can't be taken; say why you leave one. */
static oar_status_t OAR_CALL graph_claim(oar_pack_t* pack, const oar_graph_t* graph, const oar_claim_sink_t* sink) {
  static const oar_str_t why = OAR_STR("x must be contiguous");
  (void)pack;
  for (uint32_t i = 0; i < graph->n_nodes; ++i) {
    if (!oar_kit_str_is(graph->nodes[i]->op, "exp")) continue;
    if (oar_kit_value_contiguous(graph->nodes[i]->inputs[0])) sink->take(sink, 1, &i, 0);
    else sink->refuse(sink, i, OAR_REASON_LAYOUT, why);
  }
  return OAR_OK;
}

static oar_status_t OAR_CALL graph_compile(oar_pack_t* pack, const oar_graph_t* graph, const oar_options_t* options,
                                           oar_prepared_t* out_prepared) {
  if (oar_kit_options_check(pack->host, options) != OAR_OK) return OAR_UNSUPPORTED;
  if (graph->n_nodes != 1 || !oar_kit_str_is(graph->nodes[0]->op, "exp"))
    return oar_kit_refuse(out_prepared->verdict, OAR_REASON_OP, -1, "only a single exp is compiled");
  graph_state_t* state = (graph_state_t*)malloc(sizeof(*state));
  if (state == NULL) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "@NAME@: no memory for a program");
  state->count = oar_kit_count(graph->outputs[0]->n_dims, graph->outputs[0]->shape);
  out_prepared->state = state;
  return OAR_OK;
}

static oar_status_t OAR_CALL graph_launch(void* state, const oar_frame_t* frame) {
  const float* x = (const float*)oar_kit_view_data(frame->inputs[0]);
  float* out = (float*)oar_kit_view_data(frame->outputs[0]);
  for (int64_t i = 0; i < ((const graph_state_t*)state)->count; ++i) out[i] = expf(x[i]);
  return OAR_OK;
}

static void OAR_CALL graph_release(void* state) { free(state); }

static const oar_graph_table_t graph_table = {.struct_size = sizeof(graph_table),
                                              .version = OAR_GRAPH_VERSION,
                                              .n_ops = sizeof(ranges) / sizeof(ranges[0]),
                                              .ops = ranges,
                                              .claim = graph_claim,
                                              .compile = graph_compile,
                                              .launch = graph_launch,
                                              .release = graph_release};

OAR_KIT_PLUGIN("@NAME@", "@NAME@", "0.1.0", {OAR_TABLE_PACK, &pack_table}, {OAR_TABLE_GRAPH, &graph_table})
