#include "simulator/engine/draft_acceptance.hpp"

#include <algorithm>

#include "base/hash_mix.hpp"

namespace roofcast {
namespace {

constexpr std::uint64_t kStream = 0x6472616674;  // "draft"

/// Uniform in [0, 1), from 53 bits, the precision of a double.
double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::int64_t accepted_drafts(const Speculation& speculation, std::uint64_t seed, RequestId request,
                             std::int64_t generated, std::int64_t drafts) {
  drafts = std::min(drafts, speculation.draft_tokens);  // the longest path of a tree
  const std::uint64_t of_request =
      hash_mix(hash_mix(seed, kStream), static_cast<std::uint64_t>(request));
  const double drawn = uniform(hash_mix(of_request, static_cast<std::uint64_t>(generated)));
  std::int64_t accepted = 0;
  while (accepted < drafts && drawn < speculation.acceptance[static_cast<std::size_t>(accepted)]) {
    ++accepted;
  }
  return accepted;
}

Seconds draft_time(const Engine& engine, const StepPlan& plan) {
  const Speculation& speculation = engine.speculation;
  if (!speculation.on() || plan.scheduled.empty()) return {};
  return speculation.draft_pass * static_cast<double>(speculation.draft_tokens);
}

}  // namespace roofcast
