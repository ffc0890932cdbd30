#include "model/step/dispatched_experts.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

namespace roofcast {
namespace {

// Those that tables hold, but for one rank: some of its rows would read weights faster than the
// memory does.
constexpr std::array kRanks = {2, 4, 8, 16, 32, 64};

std::optional<MeasuredTimes> even_times(const Gpu& gpu, OperatorShape shape, int ranks,
                                        std::string_view engine) {
  shape.expert_ranks = ranks;
  shape.power_law = 0;
  return measured_times(gpu, shape, {}, engine);
}

}  // namespace

DispatchedExperts::DispatchedExperts(std::vector<OverRanks> timed, int ranks, Seconds one_token)
    : timed_(std::move(timed)),
      ranks_(ranks),
      last_(timed_.front().times.last_timed()),
      fixed_(one_token) {
  assert(timed_.size() >= 2 && ranks >= 1);
  for (const OverRanks& over : timed_) last_ = std::min(last_, over.times.last_timed());
  double longest = 0;
  for (double size = 1; size <= last_; size *= 2) {
    longest = std::max(longest, own_time(size).value_or(0));
    longest_.push_back(longest);
  }
}

std::optional<Seconds> DispatchedExperts::at(double tokens) const {
  const std::optional<double> own = own_time(tokens);
  if (!own) return std::nullopt;
  const auto doublings = static_cast<std::size_t>(std::log2(std::max(tokens, 1.0)));
  const double longest = longest_.empty() ? 0 : longest_[std::min(doublings, longest_.size() - 1)];
  return fixed_ + Seconds{std::max(*own, longest)};
}

std::optional<double> DispatchedExperts::own_time(double tokens) const {
  const double size = std::min(tokens, last_);
  double mean_x = 0, mean_y = 0;
  for (const OverRanks& over : timed_) {
    mean_x += 1.0 / over.ranks;
    mean_y += over.times.at(size, 0).value;
  }
  const auto count = static_cast<double>(timed_.size());
  mean_x /= count;
  mean_y /= count;
  double square = 0, product = 0;
  for (const OverRanks& over : timed_) {
    const double x = 1.0 / over.ranks - mean_x;
    square += x * x;
    product += x * (over.times.at(size, 0).value - mean_y);
  }
  if (product <= 0) return std::nullopt;
  return product / square / ranks_ * tokens / size;
}

std::optional<DispatchedExperts> dispatched_experts(const Gpu& gpu, const OperatorShape& shape,
                                                    std::string_view engine) {
  const auto own = even_times(gpu, shape, shape.expert_ranks, engine);
  if (!own) return std::nullopt;
  std::vector<DispatchedExperts::OverRanks> timed;
  for (const int ranks : kRanks) {
    auto times = even_times(gpu, shape, ranks, engine);
    if (times) timed.push_back({.times = std::move(*times), .ranks = ranks});
  }
  if (timed.size() < 2) return std::nullopt;
  return DispatchedExperts(std::move(timed), shape.expert_ranks, own->at(1, 0));
}

}  // namespace roofcast
