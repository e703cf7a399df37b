/* @NAME@ - a communicator for groups of one rank, where every collective is a copy from input to output.
 *
 * Yours: create meets the other ranks through config->kv (rank 0 puts an address or an id there, the others get it);
 * submit sends and receives. All items of one submit are known at once, so none has to be enqueued before another. */
#include <stdlib.h>

#include "kit.h"

struct oar_comm {
  const oar_host_t* host;
  int aborted; /* Yours: an atomic; abort comes from any thread while submit waits */
};

static oar_status_t OAR_CALL comm_create(const oar_host_t* host, const oar_comm_config_t* config,
                                         oar_comm_t** out_comm) {
  if (config->size != 1)
    return oar_kit_error(host, OAR_UNSUPPORTED, 0, "@NAME@: groups have one rank, asked for %u", config->size);
  if (oar_kit_options_check(host, config->options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_comm_t* comm = (oar_comm_t*)malloc(sizeof(*comm));
  if (comm == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "@NAME@: no memory for a group");
  comm->host = host;
  comm->aborted = 0;
  *out_comm = comm;
  return OAR_OK;
}

static void OAR_CALL comm_destroy(oar_comm_t* comm) { free(comm); }

static oar_status_t OAR_CALL comm_submit(uint32_t n, const oar_collective_t* const* items) {
  for (uint32_t i = 0; i < n; ++i) {
    const oar_view_t *from = items[i]->input, *to = items[i]->output;
    if (items[i]->comm->aborted)
      return oar_kit_error(items[i]->comm->host, OAR_CANCELLED, 0, "@NAME@: the group was aborted");
    if (from == NULL || to == NULL) continue; /* a barrier */
    size_t size = (size_t)oar_kit_view_count(to) * oar_kit_dtype_bytes(to->dtype);
    if (size > 0) memmove(oar_kit_view_data(to), oar_kit_view_data(from), size);
  }
  return OAR_OK;
}

static oar_status_t OAR_CALL comm_async_error(oar_comm_t* comm) { return comm->aborted ? OAR_CANCELLED : OAR_OK; }

static void OAR_CALL comm_abort(oar_comm_t* comm) { comm->aborted = 1; }

static const oar_comm_table_t comm_table = {.struct_size = sizeof(comm_table),
                                            .version = OAR_COMM_VERSION,
                                            .kinds = OAR_BIT(OAR_COMM_BARRIER) | OAR_BIT(OAR_COMM_BROADCAST) |
                                                     OAR_BIT(OAR_COMM_ALL_REDUCE) | OAR_BIT(OAR_COMM_ALL_GATHER) |
                                                     OAR_BIT(OAR_COMM_REDUCE_SCATTER),
                                            .create = comm_create,
                                            .destroy = comm_destroy,
                                            .submit = comm_submit,
                                            .async_error = comm_async_error,
                                            .abort = comm_abort};

OAR_KIT_PLUGIN("@NAME@", "@NAME@", "0.1.0", {OAR_TABLE_COMM, &comm_table})
