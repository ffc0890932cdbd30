// The flags of questions that try many deployments: `plan`, which searches for the cheapest, and
// `whatif`, which varies a scenario. Beside them both take those that say what runs where and under
// which load (planner/flags/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/flags/scenario_flags.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/question_flags.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

struct PlanOptions {
  std::vector<std::string> search{};     // "tp=1,2,4"
  std::vector<std::string> available{};  // "h100=16"
  std::vector<std::string> prices{};     // "h100=2.5"
  std::optional<double> budget{};        // $ per hour
  std::optional<double> power{};         // W
  std::optional<double> min_goodput{};   // share of requests, above 0
  std::optional<RouterPolicy> router{};
  std::optional<double> probability{};
  std::optional<std::int64_t> max_replicas{};
  std::optional<std::int64_t> top{};
  std::optional<std::int64_t> threads{};
  std::optional<PlanObjective> objective{};
  bool explain = false;
  bool whole_trace = false;
  bool mix = false;
};

/// search, objective, available, price, budget, min-goodput, explain.
const Flags<PlanOptions>& plan_flags();

/// power, probability, router, mix, whole-trace, max-replicas, top, threads.
const Flags<PlanOptions>& more_plan_flags();

/// `scenario` is the load with everything that the search does not choose; its `gpu` may list
/// several. `given` are the flags that it was overridden by; `free_length`: the caller gave no
/// number of requests. Throws UsageError for options that are missing, contradictory or without
/// effect.
PlanQuestion plan_question(Scenario scenario, const ScenarioOptions& given,
                           const PlanOptions& options, bool free_length);

/// Whether GPUs ("h100,l40s", "any") or tensor-parallel degrees ("auto", "1,2"; empty: one) are
/// compared.
bool compares_machines(const std::string& gpu, const std::string& sizes);

/// Lets the flags of a machine name several GPUs and tensor-parallel degrees; several degrees are
/// left in `sizes` as they were given.
template <class Options>
void take_several_machines(Flags<Options>& flags, std::string Options::*sizes) {
  for (Flag<Options>& flag : flags) {
    if (flag.name == "gpu") flag.help = "GPU, or several to compare: h100,l40s, or any";
    if (flag.name != "tensor-parallel-size") continue;
    flag.help = "TP, also --tp (default 1), or several to compare: 1,2,4, or auto (1 to 8)";
    flag.read = [one = flag.read, sizes](Options& target, const std::string& text,
                                         const std::string& name) {
      if (text == "auto" || text.find(',') != std::string::npos) {
        target.*sizes = text;
      } else {
        one(target, text, name);
      }
    };
  }
}

/// The comparison of the scenario's GPUs ("h100,l40s", "any") and of `sizes` ("auto": those that
/// fit; "1,2,4"; empty: the scenario's). Throws UsageError as capacity_question() does, for options
/// that a comparison does not answer, and for sizes that are not degrees.
CapacityTableQuestion capacity_table_question(Scenario scenario, const ScenarioOptions& given,
                                              const CapacityOptions& options,
                                              const std::string& sizes, bool free_length);

struct WhatIfOptions {
  std::vector<std::string> vary{};  // "gpu=h100,l40s"
  bool one_at_a_time = false;
  std::optional<std::int64_t> seeds{};
  std::vector<std::string> metrics{};  // "ttft:p95"
  bool explain = false;
  std::optional<std::int64_t> threads{};
};

/// vary, one-at-a-time, seeds, metric, explain, threads.
const Flags<WhatIfOptions>& what_if_flags();

/// `given` are the flags that the baseline was overridden by; `free_length`: the caller gave no
/// number of requests. Throws UsageError for options that are missing, contradictory or without
/// effect, in the baseline and in every variant.
WhatIfQuestion what_if_question(Scenario baseline, const ScenarioOptions& given,
                                const WhatIfOptions& options, bool free_length);

}  // namespace roofcast
