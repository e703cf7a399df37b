// What the C headers say about each function and struct, as tables that the layers and replay walk.
// describe.gen.cc holds them; they follow from api/abi/oarlock/plugin.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include <oarlock/plugin.h>

#include "core/device/layer/describe.gen.h"

namespace oarlock::layer {

enum class Type : uint8_t {
  integer,   // stars 1: an array, or where a result goes
  text,      // oar_str_t
  handle,    // an object of the plugin's; see Handle
  record,    // a struct; stars 1: pointer to one (or, if counted, an inline array), 2: array of pointers
  memory,    // what memory.alloc returns, or a host pointer
  host,      // const oar_host_t*
  opaque,    // passed through unseen
  function,  // a callback
  bytes,     // nameless structs and byte arrays, inline
};
enum class Handle : uint8_t { none, device, pack, stream, event, comm, state, memory, native, decl };
inline constexpr int kHandleKinds = 10;
enum class Mark : uint8_t { any_thread, one_thread, may_block, quick };
enum class Returns : uint8_t { nothing, status, pointer, integer4, integer8 };
enum : uint8_t { kNullable = 1, kOut = 2, kSigned = 4 };

struct Record;

// A field of a struct, or an argument of a function.
struct Member {
  const char* name;
  const Record* record;  // of what is pointed to
  uint16_t offset;       // bytes into the struct; 0 for arguments
  uint16_t size;         // bytes it takes itself
  uint8_t element;       // bytes of one integer or text
  uint8_t stars;         // pointers between it and what its type says
  int8_t count;          // index of the sibling that counts the elements; -1: one, -2: the header doesn't say
  Type type;
  Handle handle;
  uint8_t flags;  // kNullable, kOut, kSigned

  bool nullable() const { return flags & kNullable; }
  bool out() const { return flags & kOut; }
  bool many() const { return count >= 0; }
};

struct Record {
  const char* name;  // "oar_view_t"
  RecordId id;
  uint16_t size;   // by this header
  uint16_t least;  // of the first version: a smaller struct_size is wrong
  bool frozen;     // has no struct_size
  uint8_t n_members;
  const Member* members;
};

struct Function {
  const char* table;  // "memory", "kernel_decl", "host"
  const char* name;
  Fn fn;
  Mark mark;
  Returns returns;
  bool optional;
  uint8_t n_args;
  uint16_t offset;  // bytes into the table
  const Member* args;
};

extern const Record kRecords[kRecordCount];
extern const Function kFunctions[kFunctionCount];

inline const Function& function(Fn fn) { return kFunctions[int(fn)]; }
inline const Record& record(RecordId id) { return kRecords[int(id)]; }

}  // namespace oarlock::layer
