// The command line of `roofcast plan`.
#pragma once

#include <string>
#include <vector>

#include "cli/options/simulate_command_options.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

struct PlanOptions {
  SimulateOptions simulate;            // scenario file, model, load, SLO; --gpu may list several
  std::vector<std::string> search;     // "tp=1,2,4"
  std::vector<std::string> available;  // "h100=16"
  std::vector<std::string> prices;     // "h100=2.5"
  std::optional<double> budget;
  std::optional<double> power;
  std::optional<double> goodput_share;
  std::optional<double> min_goodput;  // the same, under capacity's name
  std::optional<double> probability;
  std::optional<std::int64_t> max_replicas;
  std::optional<std::int64_t> top;
  std::optional<std::int64_t> threads;
  std::optional<PlanObjective> objective;
  std::string kubernetes;  // file to write; empty: none
  bool explain = false;
};

/// Options that fill `target`, which must outlive the parse.
Usage plan_usage(PlanOptions& target);

/// The question. Throws UsageError for options that are missing, contradictory or without effect.
PlanQuestion plan_question(const PlanOptions& options);

}  // namespace roofcast
