/* The sim device: entry, device table, settings and faults. */
#include "sim.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

/* A setting: the option given to open, else the environment's. False if there is neither. */
static bool setting(const oar_options_t* options, const char* option, const char* variable, char* buffer,
                    size_t capacity) {
  if (oar_kit_option(options, option, buffer, capacity)) return true;
  const char* text = getenv(variable);
  if (text == NULL || *text == '\0') return false;
  snprintf(buffer, capacity, "%s", text);
  return true;
}

static bool number(const char* text, uint64_t* out_value) {
  char* end = NULL;
  errno = 0;
  if (*text < '0' || *text > '9') return false;
  unsigned long long value = strtoull(text, &end, 0);
  if (errno != 0 || *end != '\0') return false;
  *out_value = value;
  return true;
}

/* "hang", "oom:3", "fail:2+": kind, the count at which it strikes (1), and + for ever after. */
static bool fault_parse(char* text, sim_fault_t* out_fault) {
  static const struct {
    const char* name;
    sim_fault_kind_t kind;
  } kinds[] = {{"none", SIM_FAULT_NONE},
               {"fail", SIM_FAULT_FAIL},
               {"fail_at_once", SIM_FAULT_FAIL_AT_ONCE},
               {"hang", SIM_FAULT_HANG},
               {"lose", SIM_FAULT_LOSE},
               {"oom", SIM_FAULT_OOM},
               {"wrong_size", SIM_FAULT_WRONG_SIZE}};
  sim_fault_t fault = {SIM_FAULT_NONE, 1, false};
  char* colon = strchr(text, ':');
  if (colon != NULL) {
    size_t size = strlen(colon);
    *colon = '\0';
    if (colon[size - 1] == '+') {
      fault.ever_after = true;
      colon[size - 1] = '\0';
    }
    if (!number(colon + 1, &fault.at)) return false;
  }
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(text, kinds[i].name) != 0) continue;
    fault.kind = kinds[i].kind;
    *out_fault = fault;
    return true;
  }
  return false;
}

bool sim_fault_strikes(const sim_fault_t* fault, sim_fault_kind_t kind, uint64_t count) {
  return fault->kind == kind && (count == fault->at || (fault->ever_after && count > fault->at));
}

oar_status_t sim_lost(const oar_host_t* host) {
  return oar_kit_error(host, OAR_DEVICE_LOST, 0, "the sim device is lost; close it and open it again");
}

/* ---------------------------------------------------------------- Device table */
#define SIM_SPACE(space_flags) \
  { sizeof(oar_space_info_t), (space_flags), OAR_STR("arena"), 0, 64 }
static const oar_space_info_t space_self_pooled = SIM_SPACE(OAR_SPACE_ADDRESSABLE | OAR_SPACE_SELF_POOLED);
static const oar_space_info_t space_host_pooled = SIM_SPACE(OAR_SPACE_ADDRESSABLE);
static const oar_space_info_t* const self_pooled[] = {&space_self_pooled};
static const oar_space_info_t* const host_pooled[] = {&space_host_pooled};

#define SIM_STORAGE ((uint64_t)0x1ffffe) /* every type of whole bytes */
#define SIM_INFO(uuid_text, space_list)                                                                                \
  {                                                                                                                    \
    sizeof(oar_device_info_t), 12, OAR_STR("sim"), OAR_STR("Oarlock sim"), OAR_STR(uuid_text), {"", 0}, 1, SIM_QUEUES, \
        space_list, SIM_STORAGE, OAR_KIT_NUMBERS | OAR_KIT_BOOL                                                        \
  }
static const oar_device_info_t infos[2][2] = {{SIM_INFO("sim-0", self_pooled), SIM_INFO("sim-1", self_pooled)},
                                              {SIM_INFO("sim-0", host_pooled), SIM_INFO("sim-1", host_pooled)}};
static const oar_device_info_t* const info_lists[2][2] = {{&infos[0][0], &infos[0][1]}, {&infos[1][0], &infos[1][1]}};

static uint32_t device_count(void) {
  const char* text = getenv("OARLOCK_SIM_DEVICES");
  uint64_t n = 1;
  if (text != NULL && !number(text, &n)) n = 1;
  return n > 2 ? 2 : (uint32_t)n;
}

static oar_status_t OAR_CALL device_enumerate(const oar_host_t* host, uint32_t* out_n,
                                              const oar_device_info_t* const** out_infos) {
  (void)host;
  const char* pool = getenv("OARLOCK_SIM_POOL");
  *out_n = device_count();
  *out_infos = info_lists[pool != NULL && strcmp(pool, "host") == 0 ? 1 : 0];
  return OAR_OK;
}

static oar_status_t OAR_CALL device_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                         oar_device_t** out_device) {
  char text[64];
  if (index >= device_count()) return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "there is no sim:%u", index);
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_device_t* device = calloc(1, sizeof(*device));
  if (device == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for the device");
  device->host = host;
  device->memory_bytes = (uint64_t)2 << 30;
  device->delay_us = 200;
  device->next_id = 1;
  const char* wrong = NULL;
  if (setting(options, "seed", "OARLOCK_SIM_SEED", text, sizeof(text)) && !number(text, &device->random))
    wrong = "seed";
  if (setting(options, "delay_us", "OARLOCK_SIM_DELAY_US", text, sizeof(text)) && !number(text, &device->delay_us))
    wrong = "delay_us";
  if (setting(options, "memory_bytes", "OARLOCK_SIM_MEMORY", text, sizeof(text)) &&
      !number(text, &device->memory_bytes))
    wrong = "memory_bytes";
  if (setting(options, "fault", "OARLOCK_SIM_FAULT", text, sizeof(text)) && !fault_parse(text, &device->fault))
    wrong = "fault";
  if (wrong != NULL) {
    free(device);
    return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "sim: '%s' is no %s; see tests/sim/README.md", text, wrong);
  }
  device->random = (device->random + 1) * 0x9e3779b97f4a7c15u;
  if (!sim_arena_open(device)) {
    free(device);
    return oar_kit_error(host, OAR_OUT_OF_MEMORY, errno, "sim: no address space for its arena");
  }
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&device->lock, NULL);
  pthread_cond_init(&device->work, &attributes);
  pthread_cond_init(&device->done, &attributes);
  pthread_condattr_destroy(&attributes);

  /* The application's signals are not for the worker. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&device->worker, NULL, sim_worker, device);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed != 0) {
    sim_arena_close(device);
    free(device);
    return oar_kit_error(host, OAR_INTERNAL, failed, "sim: its thread does not start");
  }
  *out_device = device;
  return OAR_OK;
}

static void OAR_CALL device_close(oar_device_t* device) {
  pthread_mutex_lock(&device->lock);
  device->closing = true;
  pthread_cond_broadcast(&device->work);
  pthread_mutex_unlock(&device->lock);
  pthread_join(device->worker, NULL);
  while (device->streams != NULL) {
    oar_stream_t* stream = device->streams;
    device->streams = stream->next;
    free(stream);
  }
  sim_arena_close(device);
  pthread_cond_destroy(&device->done);
  pthread_cond_destroy(&device->work);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static uint64_t OAR_CALL device_link(oar_device_t* a, oar_device_t* b) {
  (void)a, (void)b;
  return 0;
}

static oar_status_t OAR_CALL device_stats(oar_device_t* device, oar_device_stats_t* out_stats) {
  oar_device_stats_t stats = {.struct_size = sizeof(stats)};
  pthread_mutex_lock(&device->lock);
  stats.memory_used_bytes = device->used_bytes;
  stats.memory_free_bytes = device->memory_bytes - device->used_bytes;
  if (device->fault.kind == SIM_FAULT_WRONG_SIZE) {
    stats.struct_size = 3;
    stats.memory_used_bytes = ~(uint64_t)0;
  }
  pthread_mutex_unlock(&device->lock);
  *out_stats = stats;
  return OAR_OK;
}

static oar_status_t OAR_CALL device_health(oar_device_t* device) {
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  pthread_mutex_unlock(&device->lock);
  return lost ? sim_lost(device->host) : OAR_OK;
}

static const oar_device_table_t device_table = {.struct_size = sizeof(device_table),
                                                .version = OAR_DEVICE_VERSION,
                                                .enumerate = device_enumerate,
                                                .open = device_open,
                                                .close = device_close,
                                                .link = device_link,
                                                .stats = device_stats,
                                                .health = device_health};

OAR_KIT_PLUGIN("sim", "Oarlock", "0.1.0", {OAR_TABLE_DEVICE, &device_table}, {OAR_TABLE_MEMORY, &sim_memory_table},
               {OAR_TABLE_STREAM, &sim_stream_table}, {OAR_TABLE_PACK, &sim_pack_table},
               {OAR_TABLE_KERNEL, &sim_kernel_table})
