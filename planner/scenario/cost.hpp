// Cost and power of a run's GPUs: per hour and per token, as every answer states them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/numbers.hpp"
#include "model/step/generation_estimate.hpp"
#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// Unset: a price, a board's power or the number of tokens is not known.
struct ServingCost {
  std::optional<double> dollars_per_hour{};  // of all GPUs
  std::optional<double> dollars_per_million_output_tokens{};
  std::optional<double> dollars_per_million_tokens{};  // prompt and output
  std::optional<double> board_power_w{};               // of all boards at their limit
  std::optional<double> mean_power_w{};                // drawn by all GPUs
  std::optional<double> joules_per_output_token{};
  std::optional<double> joules_per_token{};  // prompt and output

  bool operator==(const ServingCost&) const = default;
};

/// A figure of it, for all that show, store or compare them.
struct CostFigure {
  const char* name;
  std::optional<double> ServingCost::*value;
  const char* title;  // of a column
  int decimals;       // shown
  bool in_tables;     // has a column where variants or deployments are compared
  const char* meaning;
};

inline constexpr std::array<CostFigure, 7> kCostFigures{
    {{"cost_usd_per_h", &ServingCost::dollars_per_hour, "$/h", 2, true,
      "of all GPUs; null if one has no price"},
     {"cost_usd_per_million_output_tokens", &ServingCost::dollars_per_million_output_tokens,
      "$/M output", 2, true,
      "at the load's rate unless it saturates the engine, else at that served"},
     {"cost_usd_per_million_tokens", &ServingCost::dollars_per_million_tokens, "$/M tokens", 2,
      false, "prompt and output tokens together, likewise"},
     {"power_w", &ServingCost::board_power_w, "W limit", 0, false, "of all boards at their limit"},
     {"mean_power_w", &ServingCost::mean_power_w, "W drawn", 0, true,
      "drawn by all GPUs, on average (model/step/power.hpp)"},
     {"joules_per_output_token", &ServingCost::joules_per_output_token, "J/output", 2, true,
      "energy of all GPUs over the output tokens"},
     {"joules_per_token", &ServingCost::joules_per_token, "J/token", 2, false,
      "energy of all GPUs over prompt and output tokens"}}};

/// A price or an energy of tokens: with `decimals`, below 0.1 with two significant digits, so that
/// "0.022" and "0.027" are told apart and little is not printed as nothing.
Printed printed_amount(double value, int decimals);
std::string amount(double value, int decimals);

/// Requests, and so tokens, that an hour of the load serves over those that an hour of the run did;
/// at least 1. An engine that is not saturated serves what is offered; the run also waits for its
/// last answers, the longer the shorter it is, and no hour of the load to come has that wait. 1
/// where it is saturated, where the run was stopped or has no rate, and where it is undecided and
/// its requests wait for a third of their time or more.
double served_over_run(const LoadResult& load, const SaturationVerdict& verdict);

/// The cost of a run that simulate_sampled has filled in; without its steps (`result` empty) only
/// what is known before: price and the boards' limit. Every GPU costs its price (Scenario::pricing)
/// for as long as its replica is paid for: with autoscaling, per hour is the mean over the
/// makespan. A token's price is that at the load's own rate unless the engine is saturated
/// (served_over_run). Its energy is the run's. Excludes idle hours outside the run, the host,
/// network and storage.
ServingCost cost_of(std::span<const PoolRun> pools, const SimulationResult& result);

/// The cost of a deployment that serves nothing: its price and its boards' limit.
ServingCost idle_cost(const Deployment& deployment);

/// The price of the GPUs for `time`; nullopt without a price.
std::optional<double> dollars_for(const ServingCost& cost, Seconds time);

/// The cost of a deployment for as long as one generation lasts (estimate_generation), with nothing
/// else to do. `input_tokens` and `output_tokens` per sequence.
ServingCost cost_of(const Deployment& deployment, const GenerationEstimate& generation,
                    std::int64_t input_tokens, std::int64_t output_tokens);

template <class Visitor>
void members(Visitor& visit, ServingCost& cost) {
  for (const CostFigure& figure : kCostFigures) {
    visit.if_set(figure.name, cost.*figure.value, figure.meaning);
  }
}

}  // namespace roofcast
