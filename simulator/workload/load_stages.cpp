#include "simulator/workload/generate_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

/// Stages in order, with the number of arrivals in each.
struct StagePlan {
  std::vector<LoadStage> stages;
  std::vector<std::int64_t> arrivals;
};

StagePlan without_warmups(const SyntheticWorkload& spec, const Arrivals& arrivals) {
  const auto* staged = std::get_if<StagedLoad>(&spec.pattern);
  if (staged == nullptr) {
    return {.stages = {{.name = "measured"}}, .arrivals = {std::ssize(arrivals.times)}};
  }
  StagePlan plan{.stages = {}, .arrivals = arrivals.per_stage};
  for (const RateStage& stage : staged->stages) {
    const std::string name = (stage.warm_up ? "warm-up, " : "") + name_of(stage);
    plan.stages.push_back({.name = name, .reported = !stage.warm_up});
  }
  return plan;
}

/// Moves the first `count` arrivals from their stages into a warm-up stage.
void put_warmups_first(StagePlan& plan, std::int64_t count) {
  std::int64_t left = count;
  for (std::int64_t& arrivals : plan.arrivals) {
    const std::int64_t taken = std::min(arrivals, left);
    arrivals -= taken;
    left -= taken;
  }
  plan.stages.insert(plan.stages.begin(), {.name = "warm-up", .reported = false});
  plan.arrivals.insert(plan.arrivals.begin(), count);
}

bool reports_something(const StagePlan& plan) {
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (plan.stages[i].reported && plan.arrivals[i] > 0) return true;
  }
  return false;
}

StagePlan plan_stages(const SyntheticWorkload& spec, const Arrivals& arrivals) {
  const std::int64_t total = std::ssize(arrivals.times);
  if (spec.num_warmups < 0 || spec.num_warmups >= total) {
    throw Error(fmt::format("`num_warmups` is {}, expected fewer than the {}", spec.num_warmups,
                            counted(total, "arrival")));
  }
  StagePlan plan = without_warmups(spec, arrivals);
  if (spec.num_warmups > 0) put_warmups_first(plan, spec.num_warmups);
  if (!reports_something(plan)) {
    throw Error("stages: all requests are warm-up, expected a stage that is reported");
  }
  return plan;
}

}  // namespace

void add_stages(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals) {
  StagePlan plan = plan_stages(spec, arrivals);
  if (plan.stages.size() == 1) return;
  std::size_t stage = 0;
  for (Request& request : workload.requests) {
    if (request.follows != kNoRequest) {
      request.stage = workload.requests[static_cast<std::size_t>(request.follows)].stage;
      continue;
    }
    while (plan.arrivals[stage] == 0) ++stage;
    --plan.arrivals[stage];
    request.stage = static_cast<std::int16_t>(stage);
  }
  workload.stages = std::move(plan.stages);
}

}  // namespace roofcast
