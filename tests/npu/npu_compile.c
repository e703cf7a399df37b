/* From a graph to a program: a place for every value, scratch reused once nobody reads it any more; and launching it. */
#include "npu.h"

npu_program_t* npu_program_create(oar_device_t* device, uint32_t n_inputs, uint32_t n_outputs, uint32_t n_instructions,
                                  uint64_t constant_bytes) {
  npu_program_t* p = calloc(1, sizeof(*p));
  if (p == NULL) return NULL;
  *p = (npu_program_t){.device = device,
                       .n_inputs = n_inputs,
                       .n_outputs = n_outputs,
                       .n_instructions = n_instructions,
                       .constant_bytes = constant_bytes,
                       .inputs = calloc(n_inputs + 1, sizeof(npu_tensor_t)),
                       .outputs = calloc(n_outputs + 1, sizeof(npu_tensor_t)),
                       .instructions = calloc(n_instructions + 1, sizeof(npu_instruction_t)),
                       .constants = calloc((size_t)constant_bytes + 64, 1)};
  if (p->inputs != NULL && p->outputs != NULL && p->instructions != NULL && p->constants != NULL) return p;
  npu_release(p);
  return NULL;
}

void OAR_CALL npu_release(void* state) {
  npu_program_t* p = state;
  free(p->inputs);
  free(p->outputs);
  free(p->instructions);
  free(p->constants);
  free(p);
}

/* ---------------------------------------------------------------- Places */
typedef struct plan {
  npu_tensor_t* places; /* per value; where 0: none yet */
  uint32_t* last_read;  /* per value: the last instruction that reads it */
} plan_t;

static uint64_t round_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/* The lowest stretch of scratch that no value alive at instruction `now` lies in. */
static uint64_t place_scratch(const plan_t* plan, uint32_t n_values, uint32_t now, uint64_t bytes) {
  uint64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t v = 0; v < n_values; ++v) {
      const npu_tensor_t* t = &plan->places[v];
      if (t->where != NPU_IN_SCRATCH || plan->last_read[v] < now) continue;
      uint64_t end = t->offset + round_up(npu_bytes(t));
      if (offset < end && t->offset < offset + bytes) {
        offset = end;
        moved = true;
      }
    }
  }
  return offset;
}

static bool place_operands(const oar_graph_t* graph, plan_t* plan, uint32_t i, npu_instruction_t* in,
                           npu_program_t* p) {
  const oar_call_t* call = graph->nodes[i];
  uint32_t k = 0;
  for (uint32_t j = 0; j < call->n_inputs; ++j) {
    if (call->inputs[j] == NULL) continue;
    const npu_tensor_t* t = &plan->places[call->inputs[j]->id];
    if (t->where == 0) return false; /* it is read before it is made */
    in->operands[k++] = *t;
  }
  npu_tensor_t* out = &plan->places[call->outputs[0]->id];
  if (out->where == 0) {
    npu_tensor_t tensor = in->operands[k];
    uint64_t bytes = round_up(npu_bytes(&tensor));
    tensor.offset = place_scratch(plan, graph->n_values, i, bytes);
    tensor.where = NPU_IN_SCRATCH;
    *out = tensor;
    if (tensor.offset + bytes > p->scratch_bytes) p->scratch_bytes = tensor.offset + bytes;
  }
  in->operands[k] = *out;
  return true;
}

static bool place_ends(const oar_graph_t* graph, plan_t* plan, npu_program_t* p, npu_why_t* why) {
  uint64_t offset = 0;
  for (uint32_t v = 0; v < graph->n_values; ++v) {
    const oar_view_t* view = graph->values[v]->constant;
    npu_tensor_t t;
    if (view == NULL) continue;
    if (!npu_tensor_read(graph->values[v], -1, &t, why)) return false;
    t.where = NPU_IN_CONSTANT;
    t.offset = offset;
    memcpy(p->constants + offset, oar_kit_view_data(view), (size_t)npu_bytes(&t));
    offset += round_up(npu_bytes(&t));
    plan->places[v] = t;
  }
  for (uint32_t i = 0; i < graph->n_inputs + graph->n_outputs; ++i) {
    bool input = i < graph->n_inputs;
    const oar_value_t* value = input ? graph->inputs[i] : graph->outputs[i - graph->n_inputs];
    npu_tensor_t* t = &plan->places[value->id];
    if (t->where != 0)
      return npu_refuse(why, OAR_REASON_OTHER, (int32_t)i, "a value is input or output more than once");
    if (!npu_tensor_read(value, (int32_t)i, t, why)) return false;
    t->where = input ? NPU_IN_INPUT : NPU_IN_OUTPUT;
    t->index = input ? i : i - graph->n_inputs;
    *(input ? &p->inputs[t->index] : &p->outputs[t->index]) = *t;
  }
  return true;
}

static bool build(const oar_graph_t* graph, plan_t* plan, npu_program_t* p, npu_why_t* why) {
  if (!place_ends(graph, plan, p, why)) return false;
  for (uint32_t i = 0; i < graph->n_nodes; ++i)
    for (uint32_t k = 0; k < graph->nodes[i]->n_inputs; ++k)
      if (graph->nodes[i]->inputs[k] != NULL) plan->last_read[graph->nodes[i]->inputs[k]->id] = i;
  for (uint32_t i = 0; i < graph->n_nodes; ++i) {
    npu_instruction_t* in = &p->instructions[i];
    if (!npu_instruction_read(graph->nodes[i], in, why)) return false;
    /* Nobody reads it: it lives as long as its own instruction. */
    uint32_t made = graph->nodes[i]->outputs[0]->id;
    if (plan->last_read[made] < i) plan->last_read[made] = i;
    if (!place_operands(graph, plan, i, in, p))
      return npu_refuse(why, OAR_REASON_OTHER, -1, "node %u reads a value that nothing has made", i);
  }
  if (p->scratch_bytes <= NPU_SCRATCH_BYTES) return true;
  return npu_refuse(why, OAR_REASON_MEMORY, -1, "it takes %llu bytes of scratch, the npu has %llu",
                    (unsigned long long)p->scratch_bytes, (unsigned long long)NPU_SCRATCH_BYTES);
}

oar_status_t OAR_CALL npu_compile(oar_pack_t* pack, const oar_graph_t* graph, const oar_options_t* options,
                                  oar_prepared_t* out_prepared) {
  if (oar_kit_options_check(pack->host, options) != OAR_OK) return OAR_UNSUPPORTED;
  uint64_t constants = 0;
  npu_why_t why = {OAR_REASON_MEMORY, -1, "its constants are more than the npu holds"};
  for (uint32_t v = 0; v < graph->n_values && constants <= NPU_CONSTANT_BYTES; ++v) {
    npu_tensor_t t;
    if (graph->values[v]->constant == NULL) continue;
    if (!npu_tensor_read(graph->values[v], -1, &t, &why))
      return oar_kit_refuse(out_prepared->verdict, why.reason, -1, "a constant: %s", why.text);
    constants += round_up(npu_bytes(&t));
  }
  if (constants > NPU_CONSTANT_BYTES || graph->n_nodes > NPU_MAX_PARTS || graph->n_inputs > NPU_MAX_PARTS ||
      graph->n_outputs > NPU_MAX_PARTS)
    return oar_kit_refuse(out_prepared->verdict, why.reason, -1, "the graph is too large: %s", why.text);
  npu_program_t* p = npu_program_create(pack->device, graph->n_inputs, graph->n_outputs, graph->n_nodes, constants);
  plan_t plan = {calloc(graph->n_values + 1, sizeof(npu_tensor_t)), calloc(graph->n_values + 1, sizeof(uint32_t))};
  bool room = p != NULL && plan.places != NULL && plan.last_read != NULL;
  bool good = room && build(graph, &plan, p, &why);
  free(plan.places);
  free(plan.last_read);
  if (!good) {
    if (p != NULL) npu_release(p);
    if (!room) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory to compile");
    return oar_kit_refuse(out_prepared->verdict, why.reason, -1, "%s", why.text);
  }
  out_prepared->state = p;
  out_prepared->workspace_bytes = p->scratch_bytes;
  out_prepared->workspace_alignment = 64;
  return OAR_OK;
}

/* ---------------------------------------------------------------- Launch */
static char* view_of(const npu_program_t* p, const oar_view_t* view, const npu_tensor_t* t) {
  if (view == NULL || view->dtype != t->dtype || (uint32_t)view->n_dims != t->n_dims || !oar_kit_view_contiguous(view))
    return NULL;
  if (t->n_dims > 0 && memcmp(view->shape, t->shape, t->n_dims * sizeof(int64_t)) != 0) return NULL;
  return npu_locate(p->device, view->data, view->byte_offset, npu_bytes(t));
}

static char* place_of(const npu_program_t* p, const oar_frame_t* frame, char* scratch, const npu_tensor_t* t) {
  switch (t->where) {
    case NPU_IN_INPUT: return view_of(p, frame->inputs[t->index], &p->inputs[t->index]);
    case NPU_IN_OUTPUT: return view_of(p, frame->outputs[t->index], &p->outputs[t->index]);
    case NPU_IN_SCRATCH: return scratch + t->offset;
    default: return p->constants + t->offset;
  }
}

oar_status_t OAR_CALL npu_launch(void* state, const oar_frame_t* frame) {
  const npu_program_t* p = state;
  const oar_host_t* host = p->device->host;
  char* scratch = NULL;
  if (frame->stream == NULL) return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "npu: launched without a stream");
  if (frame->n_inputs != p->n_inputs || frame->n_outputs != p->n_outputs)
    return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "npu: launched with %u inputs and %u outputs, it has %u and %u",
                         frame->n_inputs, frame->n_outputs, p->n_inputs, p->n_outputs);
  if (p->scratch_bytes > 0) {
    scratch = npu_locate(p->device, frame->workspace.data, frame->workspace.byte_offset, p->scratch_bytes);
    if (scratch == NULL || frame->workspace.size_bytes < p->scratch_bytes)
      return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "npu: a workspace of %llu bytes, it takes %llu",
                           (unsigned long long)frame->workspace.size_bytes, (unsigned long long)p->scratch_bytes);
  }
  for (uint32_t i = 0; i < p->n_instructions; ++i) {
    const npu_instruction_t* in = &p->instructions[i];
    char* data[NPU_MAX_OPERANDS];
    for (uint32_t k = 0; k < in->n_operands; ++k) {
      data[k] = place_of(p, frame, scratch, &in->operands[k]);
      if (data[k] == NULL)
        return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0,
                             "npu: operand %u of instruction %u is not what was compiled, or lies outside of the npu",
                             k, i);
    }
    npu_ops[in->opcode].run(in, data);
  }
  return OAR_OK;
}
