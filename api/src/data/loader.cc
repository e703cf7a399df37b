#include <oarlock/data/loader.h>

#include <string>

#include "api/src/data/epoch.h"
#include "api/src/data/seed.h"

namespace oarlock::data {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, "DataLoader: " + text); }

void check(const LoaderOptions& o) {
  if (o.batch_size < 1) fail("batch_size is " + std::to_string(o.batch_size) + "; it must be 1 or more.");
  if (o.num_workers < 0 || o.num_workers > 1024)
    fail("num_workers is " + std::to_string(o.num_workers) + "; it must be in 0..1024.");
  if (o.prefetch < 1 || o.prefetch > 1 << 20)
    fail("prefetch is " + std::to_string(o.prefetch) + "; it must be in 1..1048576.");
  if (o.batch_sampler && (o.shuffle || o.drop_last || o.batch_size != 1))
    fail("batch_sampler decides batch_size, shuffle and drop_last. Leave those at their defaults.");
}

}  // namespace

struct DataLoader::Plan {
  EpochSource source;
  LoaderOptions options;
  std::shared_ptr<BatchSampler> sampler;  // none for a stream
  int64_t epoch = 0, position = 0;
  bool placed = false;  // by set_epoch or set_state: begin() stays where it is
  EpochPtr running;

  EpochPtr start() const {
    Batches batches;
    if (source.dataset) {
      int64_t size = source.dataset->size();
      if (size != source.size)
        throw Error(Code::bad_data, "DataLoader: the dataset had " + std::to_string(source.size) +
                                        " samples when the loader was made and has " + std::to_string(size) +
                                        " now. Make a new loader.");
      batches = sampler->batches(epoch);
      if (position > batches.count())
        fail("position " + std::to_string(position) + " lies behind the " + std::to_string(batches.count()) +
             " batches of epoch " + std::to_string(epoch) + ".");
    }
    return EpochPtr(new Epoch(source, std::move(batches), epoch, position));
  }
};

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options) : plan_(new Plan) {
  if (!dataset) fail("no dataset.");
  check(options);
  int64_t size = dataset->size();
  if (size < 0)
    throw Error(Code::bad_data, "DataLoader: the dataset says it has " + std::to_string(size) + " samples.");
  uint64_t seed = options.seed ? *options.seed : draw_seed();
  plan_->sampler = options.batch_sampler;
  if (!plan_->sampler) {
    std::shared_ptr<Sampler> order;
    if (options.shuffle) order = std::make_shared<RandomSampler>(size, seed);
    else order = std::make_shared<SequenceSampler>(size);
    plan_->sampler = std::make_shared<BatchSampler>(order, options.batch_size, options.drop_last);
  }
  plan_->source = {
      std::move(dataset),  nullptr,         size, options.collate, seed, options.batch_size, options.drop_last,
      options.num_workers, options.prefetch};
  plan_->options = std::move(options);
}

DataLoader::DataLoader(std::shared_ptr<const IterableDataset> dataset, LoaderOptions options) : plan_(new Plan) {
  if (!dataset) fail("no dataset.");
  check(options);
  if (options.shuffle || options.batch_sampler) fail("a stream of samples has its own order; shuffle its source.");
  int64_t size = dataset->size();
  if (size < -1)
    throw Error(Code::bad_data, "DataLoader: the dataset says it has " + std::to_string(size) + " samples.");
  uint64_t seed = options.seed ? *options.seed : draw_seed();
  plan_->source = {nullptr,
                   std::move(dataset),
                   size,
                   options.collate,
                   seed,
                   options.batch_size,
                   options.drop_last,
                   options.num_workers,
                   options.prefetch};
  plan_->options = std::move(options);
}

DataLoader::~DataLoader() = default;
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;

int64_t DataLoader::size() const {
  if (plan_->sampler) return plan_->sampler->size();
  int64_t n = plan_->source.size, b = plan_->options.batch_size;
  return n < 0 ? -1 : n / b + (!plan_->options.drop_last && n % b ? 1 : 0);
}
int64_t DataLoader::sample_count() const { return plan_->source.size; }

std::optional<Batch> DataLoader::next() {
  Plan& p = *plan_;
  std::optional<Batch> batch;
  try {
    if (!p.running) p.running = p.start();
    batch = p.running->next();
  } catch (...) {
    p.running.reset();
    throw;
  }
  if (!batch) {
    p.running.reset();
    ++p.epoch;
    p.position = 0;
    return batch;
  }
  ++p.position;
  if (!p.options.device.is_host())
    for (Tensor& t : *batch) t = t.to(p.options.device);
  return batch;
}

void DataLoader::set_epoch(int64_t epoch) {
  if (epoch < 0) fail("epoch " + std::to_string(epoch) + " is negative.");
  plan_->running.reset();
  plan_->epoch = epoch;
  plan_->position = 0;
}

LoaderState DataLoader::state() const {
  return {plan_->source.seed, plan_->sampler ? plan_->sampler->seed() : 0, plan_->epoch, plan_->position};
}
void DataLoader::set_state(const LoaderState& state) {
  if (state.epoch < 0 || state.position < 0)
    fail("a state of epoch " + std::to_string(state.epoch) + ", position " + std::to_string(state.position) +
         "; both are 0 or more.");
  int64_t batches = size();
  if (batches >= 0 && state.position > batches)
    fail("a state of position " + std::to_string(state.position) + ", an epoch has " + std::to_string(batches) +
         " batches. It belongs to another loader.");
  plan_->running.reset();
  plan_->source.seed = state.seed;
  if (plan_->sampler) plan_->sampler->set_seed(state.sampler_seed);
  plan_->epoch = state.epoch;
  plan_->position = state.position;
  plan_->placed = true;
}

void DataLoader::begin_epoch() {
  if (plan_->position && !plan_->placed) set_epoch(plan_->epoch + 1);
  plan_->placed = false;
}
DataLoader::Iterator DataLoader::begin() {
  begin_epoch();
  Iterator i;
  i.loader_ = this;
  ++i;
  return i;
}
DataLoader::Iterator& DataLoader::Iterator::operator++() {
  batch_ = loader_->next();
  return *this;
}

}  // namespace oarlock::data
