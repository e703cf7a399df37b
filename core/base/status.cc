#include <oarlock/base/status.h>

namespace oarlock {

const char* name(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::refused: return "refused";
    case Code::not_ready: return "not ready";
    case Code::invalid_argument: return "invalid argument";
    case Code::out_of_memory: return "out of memory";
    case Code::unsupported: return "unsupported";
    case Code::timeout: return "timeout";
    case Code::cancelled: return "cancelled";
    case Code::device_lost: return "device lost";
    case Code::peer_lost: return "peer lost";
    case Code::bad_data: return "bad data";
    case Code::internal: return "internal error";
  }
  return "unknown status";
}

}  // namespace oarlock
