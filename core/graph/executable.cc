#include "core/graph/executable.h"

#include <algorithm>

#include <oarlock/base/autograd.h>

#include "core/dispatch/recorder.h"
#include "core/graph/sizes.h"

namespace oarlock::graph {

Result<std::unique_ptr<Plan>> Executable::take(std::span<const Shape> shapes) {
  {
    std::lock_guard hold(lock_);
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (!std::equal(it->shapes.begin(), it->shapes.end(), shapes.begin(), shapes.end())) continue;
      std::unique_ptr<Plan> plan = std::move(it->plan);
      idle_.erase(it);
      idle_bytes_ -= plan->info().arena_bytes;
      return plan;
    }
  }
  Result<Program> p = with_sizes(*program_, shapes);
  if (!p) return std::move(p.status());
  OAR_TRY(verify(*p));  // what names left open is decided now
  return Plan::make(std::move(*p), device_, constants_, options_);
}

void Executable::give(std::vector<Shape> shapes, std::unique_ptr<Plan> plan) {
  std::vector<std::unique_ptr<Plan>> gone;  // destroyed outside of the lock
  std::lock_guard hold(lock_);
  idle_bytes_ += plan->info().arena_bytes;
  idle_.push_front({std::move(shapes), std::move(plan)});
  while (!idle_.empty() && (int(idle_.size()) > max_plans_ || idle_bytes_ > max_bytes_)) {
    idle_bytes_ -= idle_.back().plan->info().arena_bytes;
    gone.push_back(std::move(idle_.back().plan));
    idle_.pop_back();
  }
}

Status Executable::prepare(std::span<const Shape> shapes) {
  dispatch::RecorderPause pause;
  Result<std::unique_ptr<Plan>> plan = take(shapes);
  if (plan) give({shapes.begin(), shapes.end()}, std::move(*plan));
  return std::move(plan.status());
}

PlanInfo Executable::info(std::span<const Shape> shapes) {
  std::lock_guard hold(lock_);
  for (const Kept& k : idle_)
    if (std::equal(k.shapes.begin(), k.shapes.end(), shapes.begin(), shapes.end())) return k.plan->info();
  return {};
}

Executable::Held Executable::held() {
  std::lock_guard hold(lock_);
  return {int(idle_.size()), idle_bytes_};
}

Result<Outcome> Executable::run(std::span<const Tensor> given) {
  NoGrad off;
  dispatch::RecorderPause pause;
  const std::vector<ValueId>& parameters = program_->body.parameters;
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined())
      return invalid(program_->name + ": input " +
                     (i < parameters.size() ? program_->name_of(parameters[i]) : std::to_string(i)) + " has no value.");
    bool host = i < parameters.size() && (*program_)[parameters[i]].host;
    inputs.push_back(given[i].to(host ? Device() : device_));
    shapes.push_back(given[i].shape());
  }
  bool interpreted;
  {
    std::lock_guard hold(lock_);
    interpreted = interpret_;
  }
  for (int attempt = 0; !interpreted; ++attempt) {
    Result<std::unique_ptr<Plan>> plan = take(shapes);
    if (!plan) {
      if (plan.status().code() != Code::unsupported) return std::move(plan.status());
      std::lock_guard hold(lock_);
      interpret_ = true;
      break;
    }
    Result<Outcome> out = (*plan)->run(inputs);
    if (!out && out.status().code() == Code::refused && attempt == 0) {  // a state is another one now
      std::lock_guard hold(lock_);
      idle_.clear();
      idle_bytes_ = 0;
      continue;
    }
    if (out) give(std::move(shapes), std::move(*plan));
    return out;
  }
  return interpret(*program_, inputs, device_);
}

}  // namespace oarlock::graph
