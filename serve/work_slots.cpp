#include "serve/work_slots.hpp"

#include <algorithm>

namespace roofcast {

std::optional<WorkSlots::Place> WorkSlots::take(std::chrono::milliseconds patience,
                                                const std::function<bool()>& stopped) {
  constexpr std::chrono::milliseconds kPollInterval{50};  // between checks of `stopped`
  std::unique_lock lock(mutex_);
  if (free_ == 0) {
    if (may_wait_ == 0) return std::nullopt;
    --may_wait_;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (free_ == 0 && std::chrono::steady_clock::now() < end && !stopped()) {
      freed_.wait_until(lock, std::min(end, std::chrono::steady_clock::now() + kPollInterval));
    }
    ++may_wait_;
    if (free_ == 0 || stopped()) return std::nullopt;
  }
  --free_;
  return Place(*this);
}

void WorkSlots::give_back() {
  {
    const std::scoped_lock lock(mutex_);
    ++free_;
  }
  freed_.notify_one();
}

}  // namespace roofcast
