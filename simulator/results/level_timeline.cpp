#include "simulator/results/level_timeline.hpp"

#include <algorithm>

namespace roofcast {
namespace {

void hold_most(Levels& max, const Levels& levels) {
  max.running = std::max(max.running, levels.running);
  max.waiting = std::max(max.waiting, levels.waiting);
  max.kv_use = std::max(max.kv_use, levels.kv_use);
  max.kv_empty = std::max(max.kv_empty, levels.kv_empty);
}

}  // namespace

void LevelTimeline::record(Nanoseconds now, const Levels& levels) {
  if (now > since_) hold(since_, now);
  since_ = now;
  now_ = levels;
}

/// The current levels held from `from` until just before `until`.
void LevelTimeline::hold(Nanoseconds from, Nanoseconds until) {
  while ((until - 1) / width_ >= static_cast<Nanoseconds>(kMaxStretches)) widen();
  const auto last = static_cast<std::size_t>((until - 1) / width_);
  if (max_.size() <= last) max_.resize(last + 1);
  for (auto i = static_cast<std::size_t>(from / width_); i <= last; ++i) hold_most(max_[i], now_);
}

void LevelTimeline::widen() {
  width_ *= 2;
  for (std::size_t i = 0; i < max_.size(); ++i) {
    if (i % 2 == 0) {
      max_[i / 2] = max_[i];
    } else {
      hold_most(max_[i / 2], max_[i]);
    }
  }
  max_.resize((max_.size() + 1) / 2);
}

}  // namespace roofcast
