#include "api/src/data/rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <oarlock/data/dataset.h>

namespace oarlock::data {

uint64_t row_bytes(const Tensor& t) {
  uint64_t n = info(t.dtype()).bits / 8;
  for (int i = 1; i < t.rank(); ++i) n *= uint64_t(t.shape()(i));
  return n;
}

Tensor gather_rows(const Tensor& t, std::span<const int64_t> indices) {
  Shape shape = t.shape();
  shape.d[0] = int64_t(indices.size());
  Tensor out = Tensor::empty(shape, t.dtype());
  uint64_t bytes = row_bytes(t);
  if (!bytes || indices.empty()) return out;
  const char* from = static_cast<const char*>(t.data());
  char* to = static_cast<char*>(out.data());
  if (bytes == 8) {  // labels
    for (size_t i = 0; i < indices.size(); ++i) std::memcpy(to + 8 * i, from + 8 * indices[i], 8);
    return out;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    // A shuffled batch misses the cache on every row: ask for a few in advance.
    if (i + 4 < indices.size())
      for (uint64_t b = 0; b < std::min<uint64_t>(bytes, 512); b += 64)
        __builtin_prefetch(from + uint64_t(indices[i + 4]) * bytes + b);
    std::memcpy(to + bytes * i, from + uint64_t(indices[i]) * bytes, bytes);
  }
  return out;
}

std::vector<int64_t> permutation(int64_t n, Random random) {
  std::vector<int64_t> order(size_t(std::max<int64_t>(n, 0)));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[size_t(i)], order[size_t(random.below(i + 1))]);
  return order;
}

Batch default_collate(const std::vector<Sample>& samples) {
  Batch batch;
  if (samples.empty()) return batch;
  auto fail = [](size_t i, const std::string& has, const std::string& first) {
    throw Error(Code::invalid_argument, "default_collate: sample " + std::to_string(i) + " of the batch has " + has +
                                            ", the first has " + first + ". Give all samples one form, or a collate.");
  };
  size_t fields = samples[0].size();
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i].size() != fields) fail(i, std::to_string(samples[i].size()) + " fields", std::to_string(fields));
  for (size_t f = 0; f < fields; ++f) {
    std::string at = "field " + std::to_string(f);
    for (size_t i = 0; i < samples.size(); ++i)
      if (!samples[i][f]) fail(i, at + " without a value", "one");
    const Tensor& first = samples[0][f];
    if (info(first.dtype()).bits % 8) fail(0, at + " of " + std::string(to_string(first.dtype())), "bytes to share");
    Shape shape;
    shape.push(int64_t(samples.size()));
    shape.push(first.shape().begin(), first.rank());
    if (first.rank() == kMaxRank) fail(0, at + " of the highest rank", "no room for a batch axis");
    Tensor out = Tensor::empty(shape, first.dtype());
    char* to = static_cast<char*>(out.data());
    uint64_t bytes = row_bytes(out);
    for (size_t i = 0; i < samples.size(); ++i, to += bytes) {
      Tensor t = samples[i][f];
      if (t.dtype() != first.dtype())
        fail(i, at + " of " + std::string(to_string(t.dtype())), std::string(to_string(first.dtype())));
      if (!(t.shape() == first.shape())) fail(i, at + " of shape " + to_string(t.shape()), to_string(first.shape()));
      if (!bytes) continue;
      if (!t.device().is_host() || !t.is_contiguous()) {
        t.copy_to_host(to);
      } else {
        std::memcpy(to, t.data(), bytes);
      }
    }
    batch.push_back(std::move(out));
  }
  return batch;
}

}  // namespace oarlock::data
