/* Programs as bytes. Little endian, fixed widths: head, inputs, outputs, instructions, constants. What is read may come
 * from anybody: sizes are checked before anything is made of them, and every instruction as if a compiler had a bug. */
#include "npu.h"

enum { BLOB_VERSION = 1 };
static const char magic[8] = "OARNPU\r\n";

typedef struct blob_head {
  char magic[8];
  uint32_t version, revision; /* of the format; of the device it was compiled for */
  uint64_t checksum;          /* FNV-1a of all that follows */
  uint32_t n_inputs, n_outputs, n_instructions, reserved;
  uint64_t scratch_bytes, constant_bytes;
} blob_head_t;
static const size_t checked_from = offsetof(blob_head_t, n_inputs);

static uint64_t fnv(uint64_t hash, const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char*)bytes)[i]) * 0x100000001b3u;
  return hash;
}

/* ---------------------------------------------------------------- Save */
typedef struct part {
  const void* bytes;
  size_t size;
} part_t;

oar_status_t OAR_CALL npu_save(void* state, const oar_writer_t* writer) {
  const npu_program_t* p = state;
  blob_head_t head = {.version = BLOB_VERSION,
                      .revision = (uint32_t)p->device->revision,
                      .checksum = 0xcbf29ce484222325u,
                      .n_inputs = p->n_inputs,
                      .n_outputs = p->n_outputs,
                      .n_instructions = p->n_instructions,
                      .scratch_bytes = p->scratch_bytes,
                      .constant_bytes = p->constant_bytes};
  memcpy(head.magic, magic, sizeof(magic));
  const part_t parts[] = {{(const char*)&head + checked_from, sizeof(head) - checked_from},
                          {p->inputs, p->n_inputs * sizeof(npu_tensor_t)},
                          {p->outputs, p->n_outputs * sizeof(npu_tensor_t)},
                          {p->instructions, p->n_instructions * sizeof(npu_instruction_t)},
                          {p->constants, (size_t)p->constant_bytes}};
  for (size_t i = 0; i < 5; ++i) head.checksum = fnv(head.checksum, parts[i].bytes, parts[i].size);
  oar_status_t status = writer->write(writer, &head, sizeof(head));
  for (size_t i = 1; i < 5 && status == OAR_OK; ++i)
    if (parts[i].size > 0) status = writer->write(writer, parts[i].bytes, parts[i].size);
  return status;
}

/* ---------------------------------------------------------------- Check */
/* OAR_OK, OAR_RECOMPILE or OAR_REFUSED, of the head and the checksum alone. */
static oar_status_t check_head(const oar_device_t* device, oar_str_t blob, blob_head_t* head, npu_why_t* why) {
  if (blob.size < sizeof(*head)) {
    npu_refuse(why, OAR_REASON_OTHER, -1, "damaged: %zu bytes, the head alone has %zu", blob.size, sizeof(*head));
    return OAR_REFUSED;
  }
  memcpy(head, blob.data, sizeof(*head));
  if (memcmp(head->magic, magic, sizeof(magic)) != 0) {
    npu_refuse(why, OAR_REASON_OTHER, -1, "it is no program of the npu");
    return OAR_REFUSED;
  }
  if (head->version != BLOB_VERSION) {
    npu_refuse(why, OAR_REASON_VERSION, -1, "it has format %u, this plugin reads %d", head->version, BLOB_VERSION);
    return head->version < BLOB_VERSION ? OAR_RECOMPILE : OAR_REFUSED;
  }
  if (head->n_inputs > NPU_MAX_PARTS || head->n_outputs > NPU_MAX_PARTS || head->n_instructions > NPU_MAX_PARTS ||
      head->scratch_bytes > NPU_SCRATCH_BYTES || head->constant_bytes > NPU_CONSTANT_BYTES) {
    npu_refuse(why, OAR_REASON_MEMORY, -1, "damaged: it is larger than any program");
    return OAR_REFUSED;
  }
  uint64_t size = sizeof(*head) + (uint64_t)(head->n_inputs + head->n_outputs) * sizeof(npu_tensor_t) +
                  (uint64_t)head->n_instructions * sizeof(npu_instruction_t) + head->constant_bytes;
  if (size != blob.size) {
    npu_refuse(why, OAR_REASON_OTHER, -1, "damaged: %zu bytes, it says %llu", blob.size, (unsigned long long)size);
    return OAR_REFUSED;
  }
  if (fnv(0xcbf29ce484222325u, blob.data + checked_from, blob.size - checked_from) != head->checksum) {
    npu_refuse(why, OAR_REASON_OTHER, -1, "damaged: its checksum is another");
    return OAR_REFUSED;
  }
  if (head->revision == device->revision) return OAR_OK;
  npu_refuse(why, OAR_REASON_DEVICE, -1, "it was compiled for revision %u of the npu, this is %llu", head->revision,
             (unsigned long long)device->revision);
  return head->revision < device->revision ? OAR_RECOMPILE : OAR_REFUSED;
}

oar_status_t OAR_CALL npu_check_blob(oar_pack_t* pack, oar_str_t blob, oar_verdict_t* out_verdict) {
  blob_head_t head;
  npu_why_t why;
  oar_status_t status = check_head(pack->device, blob, &head, &why);
  if (status != OAR_OK) oar_kit_refuse(out_verdict, why.reason, -1, "%s", why.text);
  return status;
}

/* ---------------------------------------------------------------- Load */
static bool check_place(const npu_program_t* p, const npu_tensor_t* t, bool written, npu_why_t* why) {
  const npu_tensor_t* end = t->where == NPU_IN_INPUT && t->index < p->n_inputs     ? &p->inputs[t->index]
                            : t->where == NPU_IN_OUTPUT && t->index < p->n_outputs ? &p->outputs[t->index]
                                                                                   : NULL;
  uint64_t room = t->where == NPU_IN_SCRATCH ? p->scratch_bytes : t->where == NPU_IN_CONSTANT ? p->constant_bytes : 0;
  bool good = end != NULL ? end->dtype == t->dtype && end->n_dims == t->n_dims &&
                                memcmp(end->shape, t->shape, sizeof(t->shape)) == 0
                          : t->offset % 64 == 0 && t->offset <= room && npu_bytes(t) <= room - t->offset;
  if (written && t->where != NPU_IN_OUTPUT && t->where != NPU_IN_SCRATCH) good = false;
  return good || npu_refuse(why, OAR_REASON_OTHER, -1, "damaged: an operand lies nowhere");
}

static bool check_program(const npu_program_t* p, npu_why_t* why) {
  for (uint32_t i = 0; i < p->n_inputs; ++i)
    if (!npu_tensor_check(&p->inputs[i], (int32_t)i, why)) return false;
  for (uint32_t i = 0; i < p->n_outputs; ++i)
    if (!npu_tensor_check(&p->outputs[i], (int32_t)(p->n_inputs + i), why)) return false;
  for (uint32_t i = 0; i < p->n_instructions; ++i) {
    const npu_instruction_t* in = &p->instructions[i];
    if (!npu_instruction_check(in, why)) return false;
    for (uint32_t k = 0; k < in->n_operands; ++k)
      if (!check_place(p, &in->operands[k], k + 1 == in->n_operands, why)) return false;
  }
  return true;
}

oar_status_t OAR_CALL npu_load(oar_pack_t* pack, oar_str_t blob, oar_prepared_t* out_prepared) {
  blob_head_t head;
  npu_why_t why;
  oar_status_t status = check_head(pack->device, blob, &head, &why);
  if (status == OAR_RECOMPILE) {
    oar_kit_refuse(out_prepared->verdict, why.reason, -1, "%s", why.text);
    return OAR_RECOMPILE;
  }
  if (status != OAR_OK) return oar_kit_error(pack->host, OAR_BAD_DATA, 0, "npu: %s", why.text);
  if (OAR_HAS(out_prepared, n_outputs) && out_prepared->n_outputs > 0 &&
      (out_prepared->n_inputs != head.n_inputs || out_prepared->n_outputs != head.n_outputs))
    return oar_kit_error(pack->host, OAR_BAD_DATA, 0, "npu: it has %u inputs and %u outputs, asked for are %u and %u",
                         head.n_inputs, head.n_outputs, out_prepared->n_inputs, out_prepared->n_outputs);
  npu_program_t* p =
      npu_program_create(pack->device, head.n_inputs, head.n_outputs, head.n_instructions, head.constant_bytes);
  if (p == NULL) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "npu: no host memory for a program");
  p->scratch_bytes = head.scratch_bytes;
  const char* at = blob.data + sizeof(head);
  memcpy(p->inputs, at, p->n_inputs * sizeof(npu_tensor_t));
  at += p->n_inputs * sizeof(npu_tensor_t);
  memcpy(p->outputs, at, p->n_outputs * sizeof(npu_tensor_t));
  at += p->n_outputs * sizeof(npu_tensor_t);
  memcpy(p->instructions, at, p->n_instructions * sizeof(npu_instruction_t));
  at += p->n_instructions * sizeof(npu_instruction_t);
  memcpy(p->constants, at, (size_t)p->constant_bytes);
  if (!check_program(p, &why)) {
    npu_release(p);
    return oar_kit_error(pack->host, OAR_BAD_DATA, 0, "npu: damaged: %s", why.text);
  }
  out_prepared->state = p;
  out_prepared->workspace_bytes = p->scratch_bytes;
  out_prepared->workspace_alignment = 64;
  return OAR_OK;
}
