#include "model/step/dispatched_experts.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace roofcast {
namespace {

// Those that tables hold, but for one rank: some of its rows would read weights faster than the
// memory does. The two smallest that were timed tell L best: M is a smaller part of their times.
constexpr std::array kRanks = {2, 4, 8, 16, 32, 64};

std::optional<MeasuredTimes> even_times(const Gpu& gpu, OperatorShape shape, int ranks,
                                        std::string_view engine) {
  shape.expert_ranks = ranks;
  shape.power_law = 0;
  return measured_times(gpu, shape, {}, engine);
}

}  // namespace

DispatchedExperts::DispatchedExperts(OverRanks few, OverRanks many, int ranks, Seconds one_token)
    : few_(std::move(few.times)),
      many_(std::move(many.times)),
      share_(1 / ((1.0 / few.ranks - 1.0 / many.ranks) * ranks)),
      last_(std::min(few_.last_timed(), many_.last_timed())),
      fixed_(one_token) {
  assert(few.ranks < many.ranks && ranks >= 1);
}

Seconds DispatchedExperts::at(double tokens) const {
  const double timed = std::min(tokens, last_);
  const Seconds pairs = few_.at(timed, 0) - many_.at(timed, 0);
  return fixed_ + std::max(Seconds{}, pairs) * (share_ * tokens / timed);
}

std::optional<DispatchedExperts> dispatched_experts(const Gpu& gpu, const OperatorShape& shape,
                                                    std::string_view engine) {
  const auto own = even_times(gpu, shape, shape.expert_ranks, engine);
  if (!own) return std::nullopt;
  std::optional<DispatchedExperts::OverRanks> few;
  for (const int ranks : kRanks) {
    auto times = even_times(gpu, shape, ranks, engine);
    if (!times) continue;
    DispatchedExperts::OverRanks over{.times = std::move(*times), .ranks = ranks};
    if (few) {
      return DispatchedExperts(std::move(*few), std::move(over), shape.expert_ranks, own->at(1, 0));
    }
    few.emplace(std::move(over));
  }
  return std::nullopt;
}

}  // namespace roofcast
