/* The sim device's memory. The host is shown a stretch of address space that it may not touch; the worker knows the
 * same offsets in another, private mapping. New memory holds NaNs of one pattern, freed memory of another. */
#include "sim.h"

#include <sys/mman.h>

enum { ALIGNMENT = 64, GUARD = 64 };
/* NaN as f16, bf16, f32 and f64 alike; as an integer far from anything sensible. */
static const uint16_t fresh_pattern = 0xfffa, freed_pattern = 0x7ff5;

bool sim_arena_open(oar_device_t* device) {
  uint64_t page = 4096;
  device->memory_bytes = (device->memory_bytes + page - 1) / page * page;
  if (device->memory_bytes == 0) device->memory_bytes = page;
  void* shown = mmap(NULL, device->memory_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shown == MAP_FAILED) return false;
  void* memory =
      mmap(NULL, device->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  device->blocks_capacity = 64;
  device->blocks = malloc(device->blocks_capacity * sizeof(*device->blocks));
  if (memory == MAP_FAILED || device->blocks == NULL) {
    if (memory != MAP_FAILED) munmap(memory, device->memory_bytes);
    munmap(shown, device->memory_bytes);
    free(device->blocks);
    return false;
  }
  device->shown = shown;
  device->memory = memory;
  device->blocks[0] = (sim_block_t){.size_bytes = device->memory_bytes};
  device->n_blocks = 1;
  return true;
}

void sim_arena_close(oar_device_t* device) {
  munmap(device->shown, device->memory_bytes);
  munmap(device->memory, device->memory_bytes);
  free(device->blocks);
}

static void soil(char* memory, uint64_t size_bytes, uint16_t pattern) {
  for (uint64_t i = 0; i + 1 < size_bytes; i += 2) memcpy(memory + i, &pattern, 2);
  if (size_bytes % 2 != 0) memory[size_bytes - 1] = (char)pattern;
}

/* ---------------------------------------------------------------- Blocks; all with the lock held */
static sim_block_t* block_at(oar_device_t* device, uint64_t offset) {
  size_t low = 0, high = device->n_blocks;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (device->blocks[middle].offset <= offset) low = middle;
    else high = middle;
  }
  return &device->blocks[low];
}

static void block_insert(oar_device_t* device, size_t at, sim_block_t block) {
  memmove(device->blocks + at + 1, device->blocks + at, (device->n_blocks - at) * sizeof(block));
  device->blocks[at] = block;
  ++device->n_blocks;
}

static void block_join(oar_device_t* device, size_t at) {
  sim_block_t* blocks = device->blocks;
  if (at + 1 < device->n_blocks && blocks[at + 1].state == SIM_BLOCK_FREE) {
    blocks[at].size_bytes += blocks[at + 1].size_bytes;
    memmove(blocks + at + 1, blocks + at + 2, (device->n_blocks - at - 2) * sizeof(*blocks));
    --device->n_blocks;
  }
  if (at > 0 && blocks[at - 1].state == SIM_BLOCK_FREE) {
    blocks[at - 1].size_bytes += blocks[at].size_bytes;
    memmove(blocks + at, blocks + at + 1, (device->n_blocks - at - 1) * sizeof(*blocks));
    --device->n_blocks;
  }
}

/* The longest resting block becomes free. */
static void block_wake(oar_device_t* device) {
  sim_block_t* block = block_at(device, device->resting[0]);
  block->state = SIM_BLOCK_FREE;
  block_join(device, (size_t)(block - device->blocks));
  --device->n_resting;
  memmove(device->resting, device->resting + 1, device->n_resting * sizeof(device->resting[0]));
}

static sim_block_t* block_take(oar_device_t* device, uint64_t size_bytes, uint64_t alignment) {
  if (size_bytes > device->memory_bytes) return NULL;
  uint64_t need = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GUARD;
  if (device->n_blocks + 2 > device->blocks_capacity) {
    sim_block_t* grown = realloc(device->blocks, 2 * device->blocks_capacity * sizeof(*grown));
    if (grown == NULL) return NULL;
    device->blocks = grown;
    device->blocks_capacity *= 2;
  }
  for (size_t i = 0; i < device->n_blocks; ++i) {
    sim_block_t block = device->blocks[i];
    uint64_t address = (uint64_t)(uintptr_t)device->shown + block.offset;
    uint64_t skip = (alignment - address % alignment) % alignment;
    if (block.state != SIM_BLOCK_FREE || block.size_bytes < need || block.size_bytes - need < skip) continue;
    if (block.size_bytes - need > skip) {
      block_insert(device, i + 1,
                   (sim_block_t){block.offset + skip + need, block.size_bytes - need - skip, 0, 0, SIM_BLOCK_FREE});
    }
    if (skip > 0) {
      device->blocks[i].size_bytes = skip;
      block_insert(device, ++i, block);
    }
    device->blocks[i] = (sim_block_t){block.offset + skip, need, size_bytes, device->next_id++, SIM_BLOCK_LIVE};
    device->used_bytes += need;
    return &device->blocks[i];
  }
  return NULL;
}

bool sim_locate(oar_device_t* device, const void* data, int64_t low, int64_t high, char** out_memory,
                sim_place_t* out_place) {
  uintptr_t base = (uintptr_t)device->shown, address = (uintptr_t)data;
  if (address < base || address - base >= device->memory_bytes) return false;
  uint64_t offset = address - base;
  const sim_block_t* block = block_at(device, offset);
  uint64_t inside = offset - block->offset;
  if (block->state != SIM_BLOCK_LIVE || inside > block->used_bytes) return false;
  if (low < 0 && (uint64_t)-low > inside) return false;
  if (high > 0 && (uint64_t)high > block->used_bytes - inside) return false;
  *out_memory = device->memory + offset;
  *out_place = (sim_place_t){offset, block->id};
  return true;
}

bool sim_alive(oar_device_t* device, const sim_place_t* place) {
  if (place->block_id == 0) return true;
  const sim_block_t* block = block_at(device, place->offset);
  return block->id == place->block_id && (block->state == SIM_BLOCK_LIVE || block->state == SIM_BLOCK_DYING);
}

void sim_block_release(oar_device_t* device, uint64_t offset, uint64_t id) {
  sim_block_t* block = block_at(device, offset);
  if (block->id != id || (block->state != SIM_BLOCK_LIVE && block->state != SIM_BLOCK_DYING)) return;
  if (block->state == SIM_BLOCK_DYING) --device->n_dying;
  device->used_bytes -= block->size_bytes;
  block->state = SIM_BLOCK_RESTING;
  soil(device->memory + block->offset, block->size_bytes - GUARD, freed_pattern);
  if (device->n_resting == sizeof(device->resting) / sizeof(device->resting[0])) block_wake(device);
  device->resting[device->n_resting++] = offset;
}

void sim_block_soil(oar_device_t* device, uint64_t offset, uint64_t id) {
  const sim_block_t* block = block_at(device, offset);
  if (block->id == id) soil(device->memory + block->offset, block->size_bytes - GUARD, fresh_pattern);
}

/* ---------------------------------------------------------------- Memory table */
static oar_status_t OAR_CALL memory_alloc(oar_device_t* device, uint32_t space, uint64_t size_bytes, uint64_t alignment,
                                          oar_stream_t* stream, void** out_data) {
  if (space != 0) return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "sim has one memory space, 0");
  if ((alignment & (alignment - 1)) != 0)
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "alignment %llu is no power of two",
                         (unsigned long long)alignment);
  if (alignment < ALIGNMENT) alignment = ALIGNMENT;
  pthread_mutex_lock(&device->lock);
  if (device->lost) {
    pthread_mutex_unlock(&device->lock);
    return sim_lost(device->host);
  }
  sim_block_t* block = NULL;
  if (!sim_fault_strikes(&device->fault, SIM_FAULT_OOM, ++device->n_allocs)) {
    block = block_take(device, size_bytes, alignment);
    /* What is freed in stream order comes back when the worker gets there; a second without any is the end. */
    uint64_t deadline = sim_now_ns() + 1000000000u;
    while (block == NULL && (device->n_dying > 0 || device->n_resting > 0) && sim_now_ns() < deadline) {
      uint32_t dying = device->n_dying;
      if (device->n_resting > 0) {
        block_wake(device);
      } else {
        sim_hurry(device, 10000000u);
        if (device->n_dying != dying) deadline = sim_now_ns() + 1000000000u;
      }
      block = block_take(device, size_bytes, alignment);
    }
  }
  if (block == NULL) {
    uint64_t used = device->used_bytes;
    pthread_mutex_unlock(&device->lock);
    return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: %llu bytes wanted, %llu of %llu in use",
                         (unsigned long long)size_bytes, (unsigned long long)used,
                         (unsigned long long)device->memory_bytes);
  }
  /* With a stream the garbage is written in its order: whoever uses the memory elsewhere without waiting is hit. */
  uint64_t offset = block->offset, id = block->id;
  sim_task_t* task = stream != NULL ? sim_append(stream, SIM_GARBAGE, NULL) : NULL;
  if (task != NULL) {
    task->number = id;
    task->context = device->memory + offset;
  } else {
    sim_block_soil(device, offset, id);
  }
  *out_data = device->shown + offset;
  pthread_mutex_unlock(&device->lock);
  return OAR_OK;
}

static void OAR_CALL memory_free(oar_device_t* device, uint32_t space, void* data, oar_stream_t* stream) {
  char* memory;
  sim_place_t place;
  (void)space;
  if (data == NULL) return;
  pthread_mutex_lock(&device->lock);
  if (!sim_locate(device, data, 0, 0, &memory, &place) || block_at(device, place.offset)->offset != place.offset) {
    pthread_mutex_unlock(&device->lock);
    oar_kit_log(device->host, OAR_LOG_ERROR, "sim: free of %p, which is not allocated", data);
    return;
  }
  sim_task_t* task = stream != NULL ? sim_append(stream, SIM_FREE, NULL) : NULL;
  if (task != NULL) {
    task->number = place.block_id;
    task->context = memory;
    block_at(device, place.offset)->state = SIM_BLOCK_DYING;
    ++device->n_dying;
  } else {
    sim_block_release(device, place.offset, place.block_id);
  }
  pthread_mutex_unlock(&device->lock);
}

/* ---------------------------------------------------------------- Copies and fills */
typedef struct copy_part {
  char *dst, *src;
  sim_place_t dst_place, src_place;
  uint64_t size_bytes;
  uint32_t n_dims;
  int64_t counts[SIM_MAX_DIMS], dst_strides[SIM_MAX_DIMS], src_strides[SIM_MAX_DIMS];
} copy_part_t;

typedef struct copy {
  uint32_t n;
  copy_part_t parts[];
} copy_t;

typedef struct fill {
  char* memory;
  sim_place_t place;
  uint64_t size_bytes, pattern;
  uint32_t pattern_bytes;
} fill_t;

/* Bytes below and above a side's first byte that the region reaches. */
static void reach(const oar_region_t* region, const int64_t* strides, int64_t* out_low, int64_t* out_high) {
  *out_low = 0;
  *out_high = (int64_t)region->size_bytes;
  for (uint32_t i = 0; i < region->n_dims; ++i) {
    int64_t step = (region->counts[i] - 1) * strides[i];
    *(step < 0 ? out_low : out_high) += step;
  }
}

static bool side_locate(oar_device_t* device, void* data, uint64_t offset, bool on_host, const oar_region_t* region,
                        const int64_t* strides, char** out_memory, sim_place_t* out_place) {
  int64_t low, high;
  *out_place = (sim_place_t){0, 0};
  *out_memory = (char*)data + offset;
  if (on_host) return data != NULL;
  reach(region, strides, &low, &high);
  return sim_locate(device, *out_memory, low, high, out_memory, out_place);
}

static bool region_empty(const oar_region_t* region) {
  for (uint32_t i = 0; i < region->n_dims; ++i)
    if (region->counts[i] == 0) return true;
  return region->size_bytes == 0;
}

static oar_status_t OAR_CALL memory_copy(oar_stream_t* stream, uint32_t n, const oar_region_t* const* regions) {
  oar_device_t* device = stream->device;
  copy_t* copy = malloc(sizeof(*copy) + n * sizeof(copy->parts[0]));
  if (copy == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for a copy");
  copy->n = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const oar_region_t* region = regions[i];
    if (region_empty(region)) continue;
    if (region->n_dims > SIM_MAX_DIMS) {
      free(copy);
      return oar_kit_error(device->host, OAR_UNSUPPORTED, 0, "sim copies regions of at most %d dimensions, not %u",
                           SIM_MAX_DIMS, region->n_dims);
    }
    copy_part_t* part = &copy->parts[copy->n++];
    pthread_mutex_lock(&device->lock);
    bool dst = side_locate(device, region->dst, region->dst_offset, region->dst_on_host != 0, region,
                           region->dst_strides, &part->dst, &part->dst_place);
    bool src = side_locate(device, region->src, region->src_offset, region->src_on_host != 0, region,
                           region->src_strides, &part->src, &part->src_place);
    pthread_mutex_unlock(&device->lock);
    if (!dst || !src) {
      free(copy);
      return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0,
                           "copy: region %u leaves what is allocated at its %s, %p + %llu", i,
                           dst ? "source" : "destination", dst ? region->src : region->dst,
                           (unsigned long long)(dst ? region->src_offset : region->dst_offset));
    }
    part->size_bytes = region->size_bytes;
    part->n_dims = region->n_dims;
    for (uint32_t d = 0; d < region->n_dims; ++d) {
      part->counts[d] = region->counts[d];
      part->dst_strides[d] = region->dst_strides[d];
      part->src_strides[d] = region->src_strides[d];
    }
  }
  return sim_enqueue(stream, SIM_COPY, copy);
}

static oar_status_t OAR_CALL memory_fill(oar_stream_t* stream, const oar_span_t* span, uint64_t pattern,
                                         uint32_t pattern_bytes) {
  oar_device_t* device = stream->device;
  if (pattern_bytes == 0 || pattern_bytes > 8 || (pattern_bytes & (pattern_bytes - 1)) != 0 ||
      span->size_bytes % pattern_bytes != 0)
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "fill: %llu bytes by a pattern of %u",
                         (unsigned long long)span->size_bytes, pattern_bytes);
  if (span->size_bytes == 0) return OAR_OK;
  fill_t* fill = malloc(sizeof(*fill));
  if (fill == NULL) return oar_kit_error(device->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for a fill");
  *fill = (fill_t){.size_bytes = span->size_bytes, .pattern = pattern, .pattern_bytes = pattern_bytes};
  pthread_mutex_lock(&device->lock);
  bool found =
      span->size_bytes <= device->memory_bytes && sim_locate(device, (char*)span->data + span->byte_offset, 0,
                                                             (int64_t)span->size_bytes, &fill->memory, &fill->place);
  pthread_mutex_unlock(&device->lock);
  if (!found) {
    free(fill);
    return oar_kit_error(device->host, OAR_INVALID_ARGUMENT, 0, "fill: leaves what is allocated at %p", span->data);
  }
  return sim_enqueue(stream, SIM_FILL, fill);
}

bool sim_copy_alive(oar_device_t* device, const void* payload) {
  const copy_t* copy = payload;
  for (uint32_t i = 0; i < copy->n; ++i)
    if (!sim_alive(device, &copy->parts[i].dst_place) || !sim_alive(device, &copy->parts[i].src_place)) return false;
  return true;
}

oar_status_t sim_copy_run(const void* payload) {
  const copy_t* copy = payload;
  for (uint32_t i = 0; i < copy->n; ++i) {
    const copy_part_t* part = &copy->parts[i];
    int64_t index[SIM_MAX_DIMS] = {0}, dst = 0, src = 0;
    for (bool more = true; more;) {
      memmove(part->dst + dst, part->src + src, part->size_bytes);
      more = false;
      for (uint32_t d = part->n_dims; d-- > 0;) {
        dst += part->dst_strides[d];
        src += part->src_strides[d];
        if (++index[d] < part->counts[d]) {
          more = true;
          break;
        }
        dst -= part->dst_strides[d] * part->counts[d];
        src -= part->src_strides[d] * part->counts[d];
        index[d] = 0;
      }
    }
  }
  return OAR_OK;
}

bool sim_fill_alive(oar_device_t* device, const void* payload) {
  return sim_alive(device, &((const fill_t*)payload)->place);
}

oar_status_t sim_fill_run(const void* payload) {
  const fill_t* fill = payload;
  unsigned char bytes[8];
  for (uint32_t i = 0; i < fill->pattern_bytes; ++i) bytes[i] = (unsigned char)(fill->pattern >> 8 * i);
  for (uint64_t i = 0; i < fill->size_bytes; i += fill->pattern_bytes)
    memcpy(fill->memory + i, bytes, fill->pattern_bytes);
  return OAR_OK;
}

const oar_memory_table_t sim_memory_table = {.struct_size = sizeof(sim_memory_table),
                                             .version = OAR_MEMORY_VERSION,
                                             .alloc = memory_alloc,
                                             .free = memory_free,
                                             .copy = memory_copy,
                                             .fill = memory_fill};
