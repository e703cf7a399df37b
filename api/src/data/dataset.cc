#include <oarlock/data/dataset.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "api/src/data/rows.h"

namespace oarlock::data {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, text); }

void check_index(const char* who, int64_t index, int64_t size) {
  if (index < 0 || index >= size)
    fail(std::string(who) + ": index " + std::to_string(index) + " is outside 0.." + std::to_string(size - 1) + ".");
}

}  // namespace

std::optional<Batch> Dataset::get_batch(std::span<const int64_t>, std::span<Random>) const { return std::nullopt; }

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)), size_(0) {
  if (tensors_.empty()) fail("TensorDataset: no tensors. Pass at least one.");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& t = tensors_[i];
    if (!t) fail("TensorDataset: tensor " + std::to_string(i) + " has no value.");
    if (t.rank() == 0)
      fail("TensorDataset: tensor " + std::to_string(i) + " is a scalar; its first axis counts samples.");
    if (i && t.size(0) != size_)
      fail("TensorDataset: tensor 0 has " + std::to_string(size_) + " rows, tensor " + std::to_string(i) + " " +
           std::to_string(t.size(0)) + "; they must agree.");
    size_ = t.size(0);
    if (info(t.dtype()).bits % 8)
      fail("TensorDataset: tensor " + std::to_string(i) + " is " + std::string(to_string(t.dtype())) +
           ", whose rows share bytes. Cast it.");
    t = t.detach().to(Device()).contiguous();
  }
}

Sample TensorDataset::get(int64_t index) const {
  check_index("TensorDataset", index, size_);
  Sample sample;
  for (const Tensor& t : tensors_) {
    Shape shape;
    shape.push(t.shape().begin() + 1, t.rank() - 1);
    uint64_t bytes = row_bytes(t);
    sample.push_back(Tensor::from_host(static_cast<const char*>(t.data()) + uint64_t(index) * bytes, shape, t.dtype()));
  }
  return sample;
}

std::optional<Batch> TensorDataset::get_batch(std::span<const int64_t> indices, std::span<Random>) const {
  for (int64_t i : indices) check_index("TensorDataset", i, size_);
  Batch batch;
  for (const Tensor& t : tensors_) batch.push_back(gather_rows(t, indices));
  return batch;
}

Subset::Subset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices)
    : dataset_(std::move(dataset)), indices_(std::move(indices)) {
  if (!dataset_) fail("Subset: no dataset.");
  int64_t size = dataset_->size();
  for (int64_t i : indices_) check_index("Subset", i, size);
}
Sample Subset::get(int64_t index) const {
  check_index("Subset", index, size());
  return dataset_->get(indices_[size_t(index)]);
}
std::optional<Batch> Subset::get_batch(std::span<const int64_t> indices, std::span<Random> random) const {
  std::vector<int64_t> inner;
  inner.reserve(indices.size());
  for (int64_t i : indices) {
    check_index("Subset", i, size());
    inner.push_back(indices_[size_t(i)]);
  }
  return dataset_->get_batch(inner, random);
}

ConcatDataset::ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts) : parts_(std::move(parts)) {
  if (parts_.empty()) fail("ConcatDataset: no datasets. Pass at least one.");
  int64_t end = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i]) fail("ConcatDataset: dataset " + std::to_string(i) + " has no value.");
    int64_t size = parts_[i]->size();
    if (size < 0) fail("ConcatDataset: dataset " + std::to_string(i) + " has size " + std::to_string(size) + ".");
    ends_.push_back(end += size);
  }
}
Sample ConcatDataset::get(int64_t index) const {
  check_index("ConcatDataset", index, size());
  size_t part = size_t(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
  return parts_[part]->get(part ? index - ends_[part - 1] : index);
}

TransformedDataset::TransformedDataset(std::shared_ptr<const Dataset> dataset,
                                       std::shared_ptr<const vision::Transform> transform, int field)
    : dataset_(std::move(dataset)), transform_(std::move(transform)), field_(field) {
  if (!dataset_ || !transform_) fail("TransformedDataset: no dataset or no transform.");
  if (field_ < 0) fail("TransformedDataset: field " + std::to_string(field_) + " is negative.");
}
Tensor& TransformedDataset::field_of(std::vector<Tensor>& fields) const {
  if (size_t(field_) >= fields.size())
    fail("TransformedDataset: field " + std::to_string(field_) + " of samples that have " +
         std::to_string(fields.size()) + ".");
  return fields[size_t(field_)];
}
Sample TransformedDataset::get(int64_t index) const {
  Sample sample = dataset_->get(index);
  Tensor& field = field_of(sample);
  field = transform_->apply(field, sample_random());
  return sample;
}
std::optional<Batch> TransformedDataset::get_batch(std::span<const int64_t> indices, std::span<Random> random) const {
  std::optional<Batch> batch = dataset_->get_batch(indices, random);
  if (!batch) return batch;
  Tensor& field = field_of(*batch);
  field = transform_->apply_batch(field, random);
  return batch;
}

std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<int64_t>& sizes, uint64_t seed) {
  if (!dataset) fail("random_split: no dataset.");
  int64_t total = 0, n = dataset->size();
  for (int64_t s : sizes) {
    if (s < 0) fail("random_split: size " + std::to_string(s) + " is negative.");
    total += s;
  }
  if (total != n)
    fail("random_split: the sizes sum to " + std::to_string(total) + ", the dataset has " + std::to_string(n) + ".");
  std::vector<int64_t> order = permutation(n, Random::of_order(seed, 0));
  std::vector<std::shared_ptr<Subset>> parts;
  auto at = order.begin();
  for (int64_t s : sizes) {
    parts.push_back(std::make_shared<Subset>(dataset, std::vector<int64_t>(at, at + s)));
    at += s;
  }
  return parts;
}

std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<double>& fractions, uint64_t seed) {
  if (!dataset) fail("random_split: no dataset.");
  double sum = 0;
  for (double f : fractions) {
    if (!(f >= 0 && f <= 1)) fail("random_split: fraction " + std::to_string(f) + " is not in 0..1.");
    sum += f;
  }
  if (!(std::abs(sum - 1) < 1e-6)) fail("random_split: the fractions sum to " + std::to_string(sum) + ", not to 1.");
  int64_t n = dataset->size(), left = n;
  std::vector<int64_t> sizes;
  for (double f : fractions) {
    sizes.push_back(std::min(left, int64_t(std::floor(f * double(n)))));
    left -= sizes.back();
  }
  for (size_t i = 0; left > 0; ++i, --left) ++sizes[i % sizes.size()];
  return random_split(std::move(dataset), sizes, seed);
}

}  // namespace oarlock::data
