#include "api/src/data/epoch.h"

#include <omp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include <oarlock/base/autograd.h>

namespace oarlock::data {
namespace {

// The error of a sample (index -1: of a whole batch), with what was thrown inside. To be called in a catch block.
[[noreturn]] void throw_sample_error(int64_t index, int64_t b) {
  std::string at = index < 0 ? "batch " + std::to_string(b) + ": "
                             : "sample " + std::to_string(index) + " (batch " + std::to_string(b) + "): ";
  std::exception_ptr cause = std::current_exception();
  Code code = Code::bad_data;
  std::string text = "something that is no std::exception was thrown";
  try {
    std::rethrow_exception(cause);
  } catch (const Error& e) {
    code = e.code();
    text = e.what();
  } catch (const std::exception& e) { text = e.what(); } catch (...) {
  }
  throw SampleError(code, "DataLoader: " + at + text, index, cause);
}

}  // namespace

Epoch::Epoch(const EpochSource& source, Batches batches, int64_t epoch, int64_t first_batch)
    : source_(source),
      batches_(std::move(batches)),
      epoch_(epoch),
      taken_(first_batch),
      given_(first_batch),
      process_(::getpid()) {
  if (source_.stream) {
    end_ = std::numeric_limits<int64_t>::max();
    stream_ = source_.stream->open(epoch);
    if (!stream_) throw Error(Code::bad_data, "DataLoader: the dataset opened no stream.");
    skip_to(first_batch);
  } else {
    end_ = batches_.count();
    for (int64_t b = 0, from = 0; b < end_; from = batches_.ends[size_t(b++)])
      if (batches_.ends[size_t(b)] < from || batches_.ends[size_t(b)] > int64_t(batches_.indices.size()))
        throw Error(Code::bad_data, "DataLoader: the batch sampler's batch " + std::to_string(b) + " ends at " +
                                        std::to_string(batches_.ends[size_t(b)]) + ", outside its indices.");
    for (int64_t i : batches_.indices)
      if (i < 0 || i >= source_.size)
        throw Error(Code::bad_data, "DataLoader: the sampler gave index " + std::to_string(i) + ", the dataset has " +
                                        std::to_string(source_.size) + " samples.");
  }
  if (!source_.workers || taken_ == end_) return;
  int64_t workers = std::min<int64_t>(source_.workers, end_ - taken_);
  ring_.resize(size_t(workers) * size_t(source_.prefetch));
  workers_.reserve(size_t(workers));
  // Signals belong to the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int64_t i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // no more threads: those there are will do, and none will too
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Epoch::~Epoch() {
  {
    std::lock_guard hold(lock_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& t : workers_) t.join();
}

bool Epoch::forked() const { return !workers_.empty() && ::getpid() != process_; }

std::optional<Batch> Epoch::next() {
  if (forked())
    throw Error(Code::unsupported,
                "DataLoader: this process was forked in the middle of an epoch, and its workers stayed in the parent. "
                "Make the loader in the child, or start processes by exec.");
  Slot slot;
  if (workers_.empty()) {
    if (given_ == end_) return std::nullopt;
    std::unique_lock<std::mutex> reading(reading_);
    slot = source_.stream ? attempt_stream(given_, reading) : attempt(given_);
    ++given_;
  } else {
    std::unique_lock hold(lock_);
    if (given_ >= end_) return std::nullopt;
    Slot& mine = ring_[size_t(given_) % ring_.size()];
    filled_.wait(hold, [&] { return mine.ready; });
    slot = std::move(mine);
    mine = {};
    ++given_;
    hold.unlock();
    room_.notify_one();
  }
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

void Epoch::work() {
  omp_set_num_threads(1);  // a team per worker would take the cores from training
  if (source_.stream) {
    for (;;) {
      std::unique_lock reading(reading_);
      int64_t b;
      if (ended_ || !take(b)) return;
      Slot slot = attempt_stream(b, reading);
      deliver(b, std::move(slot));
    }
  }
  int64_t b;
  while (take(b)) deliver(b, attempt(b));
}

// The next batch to make, once there is room for it; false: there is none.
bool Epoch::take(int64_t& out_b) {
  std::unique_lock hold(lock_);
  room_.wait(hold, [&] { return stop_ || taken_ >= end_ || taken_ - given_ < int64_t(ring_.size()); });
  if (stop_ || taken_ >= end_) return false;
  out_b = taken_++;
  if (taken_ >= end_) {  // the others wait for room that they no longer need
    hold.unlock();
    room_.notify_all();
  }
  return true;
}

void Epoch::deliver(int64_t b, Slot slot) {
  slot.ready = true;
  std::lock_guard hold(lock_);
  ring_[size_t(b) % ring_.size()] = std::move(slot);
  if (b == given_) filled_.notify_one();
}

Epoch::Slot Epoch::attempt(int64_t b) {
  Slot slot;
  try {
    slot.batch = make(b);
  } catch (...) { slot.error = std::current_exception(); }
  return slot;
}

Epoch::Slot Epoch::attempt_stream(int64_t b, std::unique_lock<std::mutex>& reading) {
  Slot slot;
  try {
    NoGrad off;
    std::vector<Sample> samples = read(b);
    if (ended_) {
      std::lock_guard hold(lock_);
      end_ = samples.empty() ? b : b + 1;
    }
    reading.unlock();  // the next worker reads while this one collates
    if (!samples.empty()) slot.batch = collate(samples, b);
  } catch (...) {
    ended_ = true;
    slot.error = std::current_exception();
  }
  return slot;
}

Batch Epoch::make(int64_t b) const {
  NoGrad off;
  std::span<const int64_t> indices = batches_[b];
  std::vector<Random> random;
  auto seed_all = [&] {
    random.clear();
    for (int64_t i : indices) random.push_back(Random::of_sample(source_.seed, epoch_, i));
  };
  seed_all();
  if (source_.collate || indices.empty()) return make_one_by_one(indices, random, b);
  std::optional<Batch> batch;
  std::exception_ptr error;
  try {
    batch = source_.dataset->get_batch(indices, random);
    if (batch)
      for (size_t f = 0; f < batch->size(); ++f) {
        const Tensor& t = (*batch)[f];
        if (!t || t.rank() < 1 || t.size(0) != int64_t(indices.size()))
          throw Error(Code::bad_data, "get_batch gave field " + std::to_string(f) + " of shape " +
                                          (t ? to_string(t.shape()) : "none") + " for " +
                                          std::to_string(indices.size()) + " samples");
      }
  } catch (...) {
    error = std::current_exception();
    batch.reset();
  }
  if (batch) return *std::move(batch);
  seed_all();
  Batch made = make_one_by_one(indices, random, b);  // after an error: says which sample it was
  if (!error) return made;
  try {
    std::rethrow_exception(error);
  } catch (...) { throw_sample_error(-1, b); }
}

Batch Epoch::make_one_by_one(std::span<const int64_t> indices, std::vector<Random>& random, int64_t b) const {
  std::vector<Sample> samples;
  samples.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    SampleScope scope(random[i]);
    try {
      samples.push_back(source_.dataset->get(indices[i]));
    } catch (...) { throw_sample_error(indices[i], b); }
  }
  return collate(samples, b);
}

Batch Epoch::collate(const std::vector<Sample>& samples, int64_t b) const {
  try {
    return source_.collate ? source_.collate(samples) : default_collate(samples);
  } catch (...) { throw_sample_error(-1, b); }
}

// The samples of a stream's next batch; none at its end.
std::vector<Sample> Epoch::read(int64_t b) {
  std::vector<Sample> samples;
  while (int64_t(samples.size()) < source_.batch_size) {
    std::optional<Sample> sample;
    Random random = Random::of_sample(source_.seed, epoch_, read_);
    SampleScope scope(random);
    try {
      sample = stream_->next();
    } catch (...) { throw_sample_error(read_, b); }
    if (!sample) {
      ended_ = true;
      break;
    }
    samples.push_back(*std::move(sample));
    ++read_;
    if (source_.size >= 0 && read_ > source_.size) break;
  }
  if (source_.size >= 0 && (read_ > source_.size || (ended_ && read_ != source_.size)))
    throw Error(Code::bad_data, "DataLoader: the dataset says it has " + std::to_string(source_.size) +
                                    " samples, its stream gave " +
                                    (read_ > source_.size ? "more" : std::to_string(read_)) + ".");
  if (source_.drop_last && int64_t(samples.size()) < source_.batch_size) samples.clear();
  return samples;
}

void Epoch::skip_to(int64_t b) {
  for (int64_t i = 0; i < b * source_.batch_size; ++i) {
    Random random = Random::of_sample(source_.seed, epoch_, i);
    SampleScope scope(random);
    if (!stream_->next())
      throw Error(Code::bad_data, "DataLoader: the stream ended after " + std::to_string(i) +
                                      " samples, before batch " + std::to_string(b) + " where it was to go on.");
    ++read_;
  }
}

}  // namespace oarlock::data
