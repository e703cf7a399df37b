/* Streams and events of the sim device, and the one thread that does all its work: late, and in an order drawn from
 * the seed among those the streams and events allow. */
#include "sim.h"

#include <sched.h>
#include <time.h>

uint64_t sim_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_until(pthread_cond_t* condition, pthread_mutex_t* lock, uint64_t deadline_ns) {
  struct timespec when = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
  pthread_cond_timedwait(condition, lock, &when);
}

void sim_hurry(oar_device_t* device, uint64_t wait_ns) {
  ++device->forced;
  pthread_cond_signal(&device->work);
  wait_until(&device->done, &device->lock, sim_now_ns() + wait_ns);
  --device->forced;
}

static uint64_t draw(oar_device_t* device) { /* splitmix64 */
  uint64_t z = device->random += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* ---------------------------------------------------------------- Queues */
sim_task_t* sim_append(oar_stream_t* stream, sim_kind_t kind, void* payload) {
  oar_device_t* device = stream->device;
  sim_task_t* task = calloc(1, sizeof(*task));
  if (task == NULL) return NULL;
  task->kind = kind;
  task->payload = payload;
  if (stream->tail != NULL) stream->tail->next = task;
  else stream->head = task;
  stream->tail = task;
  if (device->idle) pthread_cond_signal(&device->work);
  return task;
}

oar_status_t sim_enqueue(oar_stream_t* stream, sim_kind_t kind, void* payload) {
  oar_device_t* device = stream->device;
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  sim_task_t* task = lost ? NULL : sim_append(stream, kind, payload);
  pthread_mutex_unlock(&device->lock);
  if (task != NULL) return OAR_OK;
  free(payload);
  return lost ? sim_lost(device->host) : oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory");
}

static void event_unref(oar_event_t* event) {
  if (--event->references == 0) free(event);
}

static void stream_fail(oar_stream_t* stream, oar_status_t status, const char* text) {
  if (stream->failure.status != OAR_OK) return;
  stream->failure.status = status;
  stream->failure.id = stream->device->next_id++;
  snprintf(stream->failure.text, sizeof(stream->failure.text), "%s", text);
}

/* ---------------------------------------------------------------- The worker */
static bool blocked(const oar_stream_t* stream) {
  const sim_task_t* task = stream->head;
  if (stream->device->lost || stream->abandoned) return false;
  if (task->kind == SIM_HANG) return true;
  return task->kind == SIM_WAIT && task->event->done < task->number;
}

/* A stream whose next task may run, each with the same chance; NULL: none. */
static oar_stream_t* choose(oar_device_t* device) {
  uint32_t n = 0;
  oar_stream_t* chosen = NULL;
  for (oar_stream_t* stream = device->streams; stream != NULL; stream = stream->next)
    if (stream->head != NULL && !blocked(stream) && draw(device) % ++n == 0) chosen = stream;
  return chosen;
}

static void run_work(oar_stream_t* stream, const sim_task_t* task) {
  oar_device_t* device = stream->device;
  char text[SIM_TEXT] = "";
  bool alive = true;
  if (device->lost || stream->failure.status != OAR_OK) return;
  if (task->kind == SIM_KERNEL) {
    const sim_job_t* job = task->payload;
    for (uint32_t i = 0; i < job->n_views; ++i) alive = alive && sim_alive(device, &job->views[i].place);
  } else {
    alive = task->kind == SIM_COPY ? sim_copy_alive(device, task->payload) : sim_fill_alive(device, task->payload);
  }
  if (!alive) {
    stream_fail(stream, OAR_INVALID_ARGUMENT, "memory was freed before the work that uses it had run");
    return;
  }
  pthread_mutex_unlock(&device->lock);
  oar_status_t status;
  if (task->kind == SIM_KERNEL) {
    const sim_job_t* job = task->payload;
    status = job->plan.op->run(job, text);
    if (status == OAR_OK && job->plan.n_steps > 0) status = sim_epilogue_run(job, text);
  } else {
    status = task->kind == SIM_COPY ? sim_copy_run(task->payload) : sim_fill_run(task->payload);
  }
  pthread_mutex_lock(&device->lock);
  if (status != OAR_OK) stream_fail(stream, status, text);
}

static void run_task(oar_stream_t* stream, sim_task_t* task) {
  oar_device_t* device = stream->device;
  oar_event_t* event = task->event;
  switch (task->kind) {
    case SIM_KERNEL:
    case SIM_COPY:
    case SIM_FILL: run_work(stream, task); break;
    case SIM_GARBAGE: sim_block_soil(device, (uint64_t)((char*)task->context - device->memory), task->number); break;
    case SIM_FREE: sim_block_release(device, (uint64_t)((char*)task->context - device->memory), task->number); break;
    case SIM_RECORD:
      if (event->done < task->number) event->done = task->number;
      event->stream_id = stream->id;
      event->failure = stream->failure;
      event_unref(event);
      break;
    case SIM_WAIT: /* what follows depends on what failed there */
      if (event->failure.status != OAR_OK && event->done >= task->number)
        stream_fail(stream, event->failure.status, event->failure.text);
      event_unref(event);
      break;
    case SIM_CALL: /* always called, or its context would leak and a chain would stop */
      pthread_mutex_unlock(&device->lock);
      task->body(task->context);
      pthread_mutex_lock(&device->lock);
      break;
    case SIM_FORGIVE:
      if (stream->failure.id == task->number) stream->failure = (sim_failure_t){.status = OAR_OK};
      break;
    case SIM_FAIL: stream_fail(stream, OAR_INTERNAL, "a fault that was asked for: this launch failed"); break;
    case SIM_HANG: stream_fail(stream, OAR_CANCELLED, "a launch that hung was given up"); break;
    case SIM_LOSE: device->lost = true; break;
  }
  free(task->payload);
  free(task);
}

void* sim_worker(void* context) {
  oar_device_t* device = context;
  pthread_mutex_lock(&device->lock);
  for (bool rested = true;;) {
    oar_stream_t* stream = choose(device);
    if (stream == NULL) {
      if (device->closing) {
        /* What hangs or waits for ever is given up; calls and frees behind it still happen. */
        bool left = false;
        for (stream = device->streams; stream != NULL; stream = stream->next) {
          left = left || stream->head != NULL;
          stream->abandoned = true;
        }
        if (left) continue;
        break;
      }
      device->idle = true;
      pthread_cond_wait(&device->work, &device->lock);
      device->idle = false;
      rested = true;
      continue;
    }
    bool hurried = device->forced > 0 || device->closing;
    if (!hurried && device->delay_us > 0 && draw(device) % (rested ? 2 : 16) == 0) {
      /* Late. Meanwhile more is queued, and there is more to choose from. */
      rested = false;
      wait_until(&device->work, &device->lock, sim_now_ns() + draw(device) % (device->delay_us * 1000));
      continue;
    }
    rested = false;
    sim_task_t* task = stream->head;
    stream->head = task->next;
    if (stream->head == NULL) stream->tail = NULL;
    stream->running = true;
    if (draw(device) % 8 == 0) {
      pthread_mutex_unlock(&device->lock);
      sched_yield();
      pthread_mutex_lock(&device->lock);
    }
    run_task(stream, task);
    stream->running = false;
    pthread_cond_broadcast(&device->done);
  }
  pthread_mutex_unlock(&device->lock);
  return NULL;
}

/* ---------------------------------------------------------------- Streams */
static oar_status_t OAR_CALL stream_create(oar_device_t* device, uint32_t queue, int32_t priority,
                                           oar_stream_t** out_stream) {
  (void)priority;
  if (queue >= SIM_QUEUES)
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "sim has queues 0 to %d, not %u", SIM_QUEUES - 1,
                         queue);
  oar_stream_t* stream = calloc(1, sizeof(*stream));
  if (stream == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for a stream");
  stream->device = device;
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  if (!lost) {
    stream->id = device->next_id++;
    stream->next = device->streams;
    device->streams = stream;
  }
  pthread_mutex_unlock(&device->lock);
  if (lost) {
    free(stream);
    return sim_lost(device->host);
  }
  *out_stream = stream;
  return OAR_OK;
}

/* The host destroys only what is idle; but after a hang it cannot be. */
static void OAR_CALL stream_destroy(oar_stream_t* stream) {
  oar_device_t* device = stream->device;
  pthread_mutex_lock(&device->lock);
  uint64_t deadline = sim_now_ns() + 2000000000u;
  while (stream->head != NULL || stream->running) {
    if ((stream->head != NULL && stream->head->kind == SIM_HANG) || sim_now_ns() > deadline) stream->abandoned = true;
    sim_hurry(device, 10000000u);
  }
  for (oar_stream_t** at = &device->streams; *at != NULL; at = &(*at)->next) {
    if (*at != stream) continue;
    *at = stream->next;
    break;
  }
  pthread_mutex_unlock(&device->lock);
  free(stream);
}

static oar_status_t OAR_CALL stream_flush(oar_stream_t* stream) {
  oar_device_t* device = stream->device;
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  pthread_cond_signal(&device->work);
  pthread_mutex_unlock(&device->lock);
  return lost ? sim_lost(device->host) : OAR_OK;
}

static oar_status_t OAR_CALL stream_host_call(oar_stream_t* stream, void(OAR_CALL* body)(void*), void* context) {
  oar_device_t* device = stream->device;
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  sim_task_t* task = lost ? NULL : sim_append(stream, SIM_CALL, NULL);
  if (task != NULL) {
    task->body = body;
    task->context = context;
  }
  pthread_mutex_unlock(&device->lock);
  if (task != NULL) return OAR_OK;
  return lost ? sim_lost(device->host) : oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory");
}

/* ---------------------------------------------------------------- Events */
static oar_status_t OAR_CALL event_create(oar_device_t* device, oar_event_t** out_event) {
  oar_event_t* event = calloc(1, sizeof(*event));
  if (event == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for an event");
  event->device = device;
  event->references = 1;
  *out_event = event;
  return OAR_OK;
}

static void OAR_CALL event_destroy(oar_event_t* event) {
  oar_device_t* device = event->device;
  pthread_mutex_lock(&device->lock);
  event_unref(event);
  pthread_mutex_unlock(&device->lock);
}

static oar_status_t event_enqueue(oar_stream_t* stream, oar_event_t* event, sim_kind_t kind) {
  oar_device_t* device = stream->device;
  pthread_mutex_lock(&device->lock);
  bool lost = device->lost;
  sim_task_t* task = lost ? NULL : sim_append(stream, kind, NULL);
  if (task != NULL) {
    task->event = event;
    task->number = kind == SIM_RECORD ? ++event->recorded : event->recorded;
    ++event->references;
  }
  pthread_mutex_unlock(&device->lock);
  if (task != NULL) return OAR_OK;
  return lost ? sim_lost(device->host) : oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory");
}

static oar_status_t OAR_CALL event_record(oar_stream_t* stream, oar_event_t* event) {
  return event_enqueue(stream, event, SIM_RECORD);
}

static oar_status_t OAR_CALL event_wait(oar_stream_t* stream, oar_event_t* event) {
  return event_enqueue(stream, event, SIM_WAIT);
}

/* Locked. A failure that event_sync has told is lifted from its stream, behind what is queued there now. Not so with
 * event_query: hosts poll with it and look at nothing but OAR_NOT_READY. */
static oar_status_t event_result(oar_event_t* event, bool query, sim_failure_t* out_failure) {
  *out_failure = event->failure;
  if (event->failure.status == OAR_OK || query) return event->failure.status;
  for (oar_stream_t* stream = event->device->streams; stream != NULL; stream = stream->next) {
    if (stream->id != event->stream_id || stream->failure.id != event->failure.id ||
        stream->forgiving == event->failure.id)
      continue;
    sim_task_t* task = sim_append(stream, SIM_FORGIVE, NULL);
    if (task == NULL) break;
    task->number = stream->forgiving = event->failure.id;
  }
  return event->failure.status;
}

static oar_status_t event_await(oar_event_t* event, uint64_t timeout_ns, bool query) {
  oar_device_t* device = event->device;
  sim_failure_t failure = {.status = OAR_OK};
  oar_status_t status = OAR_OK;
  pthread_mutex_lock(&device->lock);
  uint64_t number = event->recorded, now = sim_now_ns();
  uint64_t deadline = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
  while (!device->lost && event->done < number && !query && sim_now_ns() < deadline) {
    uint64_t left = deadline - sim_now_ns();
    sim_hurry(device, (int64_t)left > 0 && left < 1000000000u ? left : 1000000000u);
  }
  if (device->lost) {
    status = OAR_DEVICE_LOST;
  } else if (event->done < number) {
    status = query ? OAR_NOT_READY : OAR_TIMEOUT;
  } else {
    status = event_result(event, query, &failure);
  }
  pthread_mutex_unlock(&device->lock);
  if (status == OAR_DEVICE_LOST && failure.status == OAR_OK) return sim_lost(device->host);
  if (status == OAR_TIMEOUT)
    return oar_kit_error(device->host, OAR_TIMEOUT, 0, "the event has not passed within %llu ns",
                         (unsigned long long)timeout_ns);
  return status < 0 ? oar_kit_error(device->host, status, 0, "%s", failure.text) : status;
}

static oar_status_t OAR_CALL event_query(oar_event_t* event) { return event_await(event, 0, true); }

static oar_status_t OAR_CALL event_sync(oar_event_t* event, uint64_t timeout_ns) {
  return event_await(event, timeout_ns, false);
}

static oar_status_t OAR_CALL event_arm(oar_event_t* event) {
  oar_device_t* device = event->device;
  pthread_mutex_lock(&device->lock);
  ++event->recorded;
  event->failure = (sim_failure_t){.status = OAR_OK};
  pthread_mutex_unlock(&device->lock);
  return OAR_OK;
}

static oar_status_t OAR_CALL event_signal(oar_event_t* event) {
  oar_device_t* device = event->device;
  pthread_mutex_lock(&device->lock);
  event->done = event->recorded;
  pthread_cond_signal(&device->work);
  pthread_cond_broadcast(&device->done);
  pthread_mutex_unlock(&device->lock);
  return OAR_OK;
}

const oar_stream_table_t sim_stream_table = {.struct_size = sizeof(sim_stream_table),
                                             .version = OAR_STREAM_VERSION,
                                             .create = stream_create,
                                             .destroy = stream_destroy,
                                             .flush = stream_flush,
                                             .event_create = event_create,
                                             .event_destroy = event_destroy,
                                             .event_record = event_record,
                                             .event_wait = event_wait,
                                             .event_query = event_query,
                                             .event_sync = event_sync,
                                             .host_call = stream_host_call,
                                             .event_arm = event_arm,
                                             .event_signal = event_signal};
