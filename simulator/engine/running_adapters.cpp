#include "simulator/engine/running_adapters.hpp"

#include <algorithm>

namespace roofcast {

RunningAdapters::RunningAdapters(const EngineState& state, const StepPlan& plan)
    : lora_(state.engine.lora) {
  if (!state.requests.any_adapters()) return;
  for (const ScheduledTokens& scheduled : plan.scheduled) add(state[scheduled.request].adapter);
}

bool RunningAdapters::has(std::int32_t adapter) const {
  return std::find(adapters_.begin(), adapters_.end(), adapter) != adapters_.end();
}

bool RunningAdapters::admit(std::int32_t adapter) const {
  return adapter < 0 || has(adapter) || std::ssize(adapters_) < lora_.max_loras;
}

void RunningAdapters::add(std::int32_t adapter) {
  if (adapter >= 0 && !has(adapter)) adapters_.push_back(adapter);
}

Seconds RunningAdapters::time() const {
  if (adapters_.empty()) return {};
  return lora_.step + lora_.adapter * static_cast<double>(adapters_.size());
}

}  // namespace roofcast
