// The questions that a plan asks about candidates, and their answers. Structs within a process;
// texts between processes and in the store.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error_cause.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/verdict/confidence.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

enum class FigureKind {
  trial,    // the load simulated: CandidateFigures
  finalist  // probability and capacity: FinalistFigures
};

struct FigureQuestion {
  FigureKind kind = FigureKind::trial;
  std::size_t shape = 0;  // index into the plan's shapes
  std::int64_t units = 1;

  auto operator<=>(const FigureQuestion&) const = default;
};

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
  /// That it holds, of what holds as predicted if the plan asks for a probability: `least` of
  /// confidence_for if it has that.
  std::optional<double> probability{};
  std::int64_t further_simulations = 0;   // for the probability
  std::vector<ErrorCause> step_causes{};  // of step times' error; of several pools the first's
  double step_uncertainty = 0;            // of step times, one standard deviation; likewise
  StepSources step_sources{};             // how they are known; likewise
};

/// A figure of a trial that is one number, taken from the simulation.
struct TrialFigure {
  const char* name;
  double CandidateFigures::*value;
  double (*of)(const SimulationResult& result);
  const char* meaning;
};

/// All of them, in the order of answers: another is added here and as a member above.
inline constexpr auto kTrialFigures = std::to_array<TrialFigure>({
    {"offered_rate_per_s", &CandidateFigures::offered_rate_per_s,
     [](const SimulationResult& result) { return result.offered_rate_per_s; },
     "arrivals; 0: all at once"},
    {"request_rate_per_s", &CandidateFigures::request_rate_per_s,
     [](const SimulationResult& result) { return result.request_rate_per_s; },
     "completed over the makespan"},
    {"output_tokens_per_s", &CandidateFigures::output_tokens_per_s,
     [](const SimulationResult& result) { return result.output_tokens_per_s; },
     "over the makespan"},
    {"ttft_p95_s", &CandidateFigures::ttft_p95_s,
     [](const SimulationResult& result) { return result.ttft.p95; }, "time to the first token"},
    {"tpot_p95_s", &CandidateFigures::tpot_p95_s,
     [](const SimulationResult& result) { return result.tpot.p95; },
     "time per output token after the first"},
    {"e2e_p95_s", &CandidateFigures::e2e_p95_s,
     [](const SimulationResult& result) { return result.e2e.p95; },
     "from sending to the last token"},
    {"mean_kv_use", &CandidateFigures::mean_kv_use,
     [](const SimulationResult& result) { return result.use.mean_kv_use; },
     "mean share of KV blocks in use"},
    {"busy_share", &CandidateFigures::busy_share,
     [](const SimulationResult& result) { return result.use.busy_share; },
     "share of the makespan with a step in progress"},
});

/// Figures computed only for candidates in the answer.
struct FinalistFigures {
  Confidence confidence{};
  /// The largest load that holds, relative to the load asked about; nullopt if it cannot be
  /// determined: all requests arrive at once, or a client's limit sets the rate.
  std::optional<double> capacity_factor{};
  bool capacity_bounded = true;   // false: the capacity is at least this
  bool capacity_monotone = true;  // false: some load beyond a failing one holds
  double capacity_rate_per_s = 0;
  bool capacity_decided = true;  // false: the requests are too few to be sure of the capacity
  std::vector<PoolUtilisation> utilisation{};  // of every pool, at the load asked about
  ServingCost cost{};                          // at the load asked about
  std::int64_t simulations = 0;
};

using Figures = std::variant<CandidateFigures, FinalistFigures>;

/// "trial 3 2 DIGEST": shape, units, and the digest of all inputs (planner/search/plan_digest.hpp).
std::string question_text(const FigureQuestion& question, const std::string& digest);

/// Nullopt if `text` is not in the format of question_text.
std::optional<FigureQuestion> parse_question(const std::string& text);

std::string to_text(const Figures& figures);

/// Precondition: to_text wrote `text` for an answer to a question of that kind.
Figures parse_figures(FigureKind kind, const std::string& text);

}  // namespace roofcast
