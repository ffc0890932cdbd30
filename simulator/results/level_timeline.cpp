#include "simulator/results/level_timeline.hpp"

#include <algorithm>

namespace roofcast {
namespace {

void hold_most(Levels& most, const Levels& levels) {
  most.running = std::max(most.running, levels.running);
  most.waiting = std::max(most.waiting, levels.waiting);
  most.kv_use = std::max(most.kv_use, levels.kv_use);
}

}  // namespace

void LevelTimeline::record(Nanoseconds now, const Levels& levels) {
  if (now > since_) hold(since_, now);
  since_ = now;
  now_ = levels;
}

/// The present levels were there from `from` until just before `until`.
void LevelTimeline::hold(Nanoseconds from, Nanoseconds until) {
  while ((until - 1) / width_ >= static_cast<Nanoseconds>(kMostStretches)) widen();
  const auto last = static_cast<std::size_t>((until - 1) / width_);
  if (most_.size() <= last) most_.resize(last + 1);
  for (auto i = static_cast<std::size_t>(from / width_); i <= last; ++i) hold_most(most_[i], now_);
}

void LevelTimeline::widen() {
  width_ *= 2;
  for (std::size_t i = 0; i < most_.size(); ++i) {
    if (i % 2 == 0) {
      most_[i / 2] = most_[i];
    } else {
      hold_most(most_[i / 2], most_[i]);
    }
  }
  most_.resize((most_.size() + 1) / 2);
}

}  // namespace roofcast
