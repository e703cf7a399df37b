/* Which nodes the npu takes: all that it can between one visit of other devices and the next, as one group. */
#include "npu.h"

/* A node's level is how often data has left the npu and come back before it. Nodes of one level that the npu can take make
 * a group: a path that leaves it comes back on a higher level, so no group closes a cycle. */
typedef struct levels {
  uint32_t* of_value; /* the level on which a value is there */
  bool* away;         /* it comes from a node that the npu doesn't take */
  uint32_t* of_node;  /* UINT32_MAX: not taken */
} levels_t;

static bool levels_create(levels_t* l, const oar_graph_t* graph) {
  l->of_value = calloc(graph->n_values + 1, sizeof(*l->of_value));
  l->away = calloc(graph->n_values + 1, sizeof(*l->away));
  l->of_node = calloc(graph->n_nodes + 1, sizeof(*l->of_node));
  return l->of_value != NULL && l->away != NULL && l->of_node != NULL;
}

static void levels_destroy(levels_t* l) {
  free(l->of_value);
  free(l->away);
  free(l->of_node);
}

static void level_node(levels_t* l, const oar_graph_t* graph, uint32_t i, bool taken) {
  const oar_call_t* call = graph->nodes[i];
  uint32_t level = 0;
  for (uint32_t k = 0; k < call->n_inputs; ++k) {
    if (call->inputs[k] == NULL) continue;
    uint32_t id = call->inputs[k]->id, at = l->of_value[id] + (taken && l->away[id] ? 1 : 0);
    if (at > level) level = at;
  }
  l->of_node[i] = taken ? level : UINT32_MAX;
  for (uint32_t k = 0; k < call->n_outputs; ++k) {
    if (call->outputs[k] == NULL) continue;
    l->of_value[call->outputs[k]->id] = level;
    l->away[call->outputs[k]->id] = !taken;
  }
}

oar_status_t OAR_CALL npu_claim(oar_pack_t* pack, const oar_graph_t* graph, const oar_claim_sink_t* sink) {
  levels_t l;
  uint64_t* cost = calloc(graph->n_nodes + 1, sizeof(*cost));
  uint32_t* group = calloc(graph->n_nodes + 1, sizeof(*group));
  bool made = levels_create(&l, graph);
  if (!made || cost == NULL || group == NULL) {
    levels_destroy(&l);
    free(cost);
    free(group);
    return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory to look at %u nodes", graph->n_nodes);
  }
  for (uint32_t i = 0; i < graph->n_nodes; ++i) {
    npu_instruction_t instruction;
    npu_why_t why;
    bool taken = npu_instruction_read(graph->nodes[i], &instruction, &why);
    if (taken) {
      cost[i] = npu_cost_ns(&instruction);
    } else {
      oar_str_t text = oar_kit_str(why.text);
      sink->refuse(sink, i, why.reason, text);
    }
    level_node(&l, graph, i, taken);
  }
  for (uint32_t level = 0;; ++level) {
    uint32_t n = 0;
    bool later = false;
    uint64_t sum = 1000; /* of a launch */
    for (uint32_t i = 0; i < graph->n_nodes; ++i) {
      if (l.of_node[i] == level) {
        group[n++] = i;
        sum += cost[i];
      }
      later |= l.of_node[i] != UINT32_MAX && l.of_node[i] > level;
    }
    if (n > 0) sink->take(sink, n, group, sum);
    if (!later) break;
  }
  levels_destroy(&l);
  free(cost);
  free(group);
  return OAR_OK;
}
