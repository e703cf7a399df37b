// Streams are in-order queues, events are markers on them.
#include <chrono>
#include <thread>

#include "device.h"
#include "operand.h"

namespace oarlock::opencl {

Fault::~Fault() {
  if (memory != nullptr) cl().ReleaseMemObject(memory);
  if (queue != nullptr) cl().ReleaseCommandQueue(queue);
}

Recording::~Recording() {
  if (event == nullptr) return;
  if (fault != nullptr) cl().WaitForEvents(1, &event);  // the words are still to be written
  cl().ReleaseEvent(event);
}

namespace {

oar_status_t stream_create(oar_device_t* device, uint32_t queue, int32_t, oar_stream_t** out_stream) {
  return kit::guard(device->host, [&] {
    if (queue >= device->listed->info.n_queues)
      throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: there is no queue " + std::to_string(queue));
    auto stream = std::make_unique<oar_stream>();
    stream->device = device;
    cl_int code = CL_SUCCESS;
    stream->queue = cl().CreateCommandQueue(device->context, device->listed->id, 0, &code);
    check(code, "clCreateCommandQueue");
    auto fault = std::make_shared<Fault>();
    fault->queue = stream->queue;  // the first reference; the stream has the second
    cl().RetainCommandQueue(stream->queue);
    int64_t zero[Fault::kWords] = {};
    fault->memory =
        cl().CreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zero), zero, &code);
    check(code, "clCreateBuffer");
    stream->fault = std::move(fault);
    *out_stream = stream.release();
  });
}

void stream_destroy(oar_stream_t* stream) {
  cl().Finish(stream->queue);
  cl().ReleaseCommandQueue(stream->queue);
  delete stream;
}

oar_status_t stream_flush(oar_stream_t* stream) {
  return kit::guard(stream->device->host, [&] { check(cl().Flush(stream->queue), "clFlush"); });
}

void* stream_native(oar_stream_t* stream) { return stream->queue; }

oar_status_t event_create(oar_device_t* device, oar_event_t** out_event) {
  return kit::guard(device->host, [&] {
    auto event = std::make_unique<oar_event>();
    event->device = device;
    *out_event = event.release();
  });
}

void event_destroy(oar_event_t* event) { delete event; }

std::shared_ptr<Recording> last_of(oar_event_t* event) {
  std::lock_guard hold(event->lock);
  return event->last;
}

oar_status_t event_record(oar_stream_t* stream, oar_event_t* event) {
  return kit::guard(stream->device->host, [&] {
    auto made = std::make_shared<Recording>();
    if (stream->fault->watched.load()) {
      check(cl().EnqueueReadBuffer(stream->queue, stream->fault->memory, CL_FALSE, 0, sizeof(made->words), made->words,
                                   0, nullptr, nullptr),
            "clEnqueueReadBuffer");
      made->fault = stream->fault;
    }
    check(cl().EnqueueMarkerWithWaitList(stream->queue, 0, nullptr, &made->event), "clEnqueueMarkerWithWaitList");
    check(cl().Flush(stream->queue), "clFlush");  // who waits elsewhere must not wait for ever
    std::lock_guard hold(event->lock);
    event->last.swap(made);
  });
}

oar_status_t event_wait(oar_stream_t* stream, oar_event_t* event) {
  return kit::guard(stream->device->host, [&] {
    const std::shared_ptr<Recording> last = last_of(event);
    if (last == nullptr) return;
    check(cl().EnqueueBarrierWithWaitList(stream->queue, 1, &last->event, nullptr), "clEnqueueBarrierWithWaitList");
  });
}

cl_int state_of(const Recording& recording) {
  cl_int state = CL_COMPLETE;
  const cl_int code =
      cl().GetEventInfo(recording.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return code != CL_SUCCESS ? code : state;
}

// Of a recording that has passed. lift: the stream is clean for what is enqueued from now on.
oar_status_t result(oar_event_t* event, const Recording& recording, bool lift) {
  return kit::guard(event->device->host, [&] {
    if (const cl_int state = state_of(recording); state < 0) fail(state, "work on the queue");
    if (lift && event->device->guard != nullptr) event->device->guard->look();
    if (recording.fault == nullptr || recording.words[Fault::kOp] == 0) return;
    Fault& fault = *recording.fault;
    if (lift && fault.watched.exchange(false)) {
      const int64_t zero = 0;
      check(cl().EnqueueFillBuffer(fault.queue, fault.memory, &zero, sizeof(zero), 0, sizeof(recording.words), 0,
                                   nullptr, nullptr),
            "clEnqueueFillBuffer");
    }
    throw kit::Error(OAR_INVALID_ARGUMENT, fault_text(recording.words));
  });
}

oar_status_t event_query(oar_event_t* event) {
  const std::shared_ptr<Recording> last = last_of(event);
  if (last == nullptr) return OAR_OK;
  if (state_of(*last) > CL_COMPLETE) return OAR_NOT_READY;
  return result(event, *last, false);
}

oar_status_t event_sync(oar_event_t* event, uint64_t timeout_ns) {
  const std::shared_ptr<Recording> last = last_of(event);
  if (last == nullptr) return OAR_OK;
  if (timeout_ns == UINT64_MAX) {
    cl().WaitForEvents(1, &last->event);  // a failure shows in the event's state
    return result(event, *last, true);
  }
  // OpenCL has no wait that ends: look again and again, less and less often.
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t pause_us = 5; state_of(*last) > CL_COMPLETE; pause_us = std::min<uint64_t>(pause_us * 2, 1000)) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (static_cast<uint64_t>(std::chrono::nanoseconds(waited).count()) >= timeout_ns)
      return oar_kit_error(event->device->host, OAR_TIMEOUT, 0, "opencl: the event has not passed within %llu ns",
                           static_cast<unsigned long long>(timeout_ns));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
  return result(event, *last, true);
}

oar_status_t event_arm(oar_event_t* event) {
  return kit::guard(event->device->host, [&] {
    auto made = std::make_shared<Recording>();
    cl_int code = CL_SUCCESS;
    made->event = cl().CreateUserEvent(event->device->context, &code);
    check(code, "clCreateUserEvent");
    std::lock_guard hold(event->lock);
    event->last.swap(made);
    event->armed = true;
  });
}

oar_status_t event_signal(oar_event_t* event) {
  return kit::guard(event->device->host, [&] {
    std::shared_ptr<Recording> last;
    {
      std::lock_guard hold(event->lock);
      if (!event->armed) return;
      event->armed = false;
      last = event->last;
    }
    check(cl().SetUserEventStatus(last->event, CL_COMPLETE), "clSetUserEventStatus");
  });
}

}  // namespace

const oar_stream_table_t kStreamTable = {.struct_size = sizeof(oar_stream_table_t),
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
                                         .wrap_native = nullptr,
                                         .native = stream_native,
                                         .host_call = nullptr,
                                         .event_arm = event_arm,
                                         .event_signal = event_signal};

}  // namespace oarlock::opencl
