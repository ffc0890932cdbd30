// What was found out about a candidate, and as text: what threads, other processes and the store
// hand on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/capacity/confidence.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

/// One simulation of the load.
struct CandidateFigures {
  SloVerdict verdict{};
  double offered_rate_per_s = 0;  // 0: all at once
  double request_rate_per_s = 0;  // completed over the makespan
  double output_tokens_per_s = 0;
  double ttft_p95_s = 0;
  double tpot_p95_s = 0;
  double e2e_p95_s = 0;
  double mean_kv_use = 0;  // share of blocks
  double busy_share = 0;   // of the makespan
  std::int64_t requests = 0;
  /// That it holds, where a plan asked for it; not part of the text.
  std::optional<double> probability{};
};

/// What only those in the answer are asked for.
struct FinalistFigures {
  Confidence confidence{};
  /// The most load it holds, as a factor on the load asked about; nothing where it cannot be told:
  /// requests come all at once, or a client's limit sets the rate.
  std::optional<double> capacity_factor{};
  bool capacity_bounded = true;   // or it is at least this
  bool capacity_monotone = true;  // or some load beyond one that fails holds
  double capacity_rate_per_s = 0;
  std::int64_t capacity_requests_needed = 0;  // to tell of a load that lasts, see requests_needed
  std::int64_t simulations = 0;
};

std::string to_text(const CandidateFigures& figures);
std::string to_text(const FinalistFigures& figures);

/// Precondition: written by to_text.
CandidateFigures candidate_figures(const std::string& text);
FinalistFigures finalist_figures(const std::string& text);

}  // namespace roofcast
