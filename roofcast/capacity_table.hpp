// The capacity of one model on several GPUs and tensor-parallel degrees, with the cost of its
// tokens, in one table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/scenario/cost.hpp"
#include "roofcast/capacity.hpp"

namespace roofcast {

/// Tensor-parallel degrees where none are asked for; those that do not fit the model are left out.
inline constexpr std::array kAnySizes{1, 2, 4, 8};

struct CapacityTableQuestion {
  CapacityQuestion each{};          // of one row; its GPU and tensor parallelism are replaced
  std::vector<std::string> gpus{};  // profile names or paths; at least one
  std::vector<int> sizes{};         // tensor-parallel degrees; empty: kAnySizes
};

/// A load within the SLO: what its tokens cost, and how fast a user reads them.
struct CapacityTablePoint {
  double load = 0;                                     // as CapacityTableRow::capacity
  double output_tokens_per_s = 0;                      // of all requests, at the load's rate
  double user_tokens_per_s = 0;                        // of one: 1 / mean TPOT
  std::optional<double> dollars_per_million_tokens{};  // prompt and output; unset: no price
};

struct CapacityTableRow {
  std::string gpu{};  // name of the profile
  int tensor_parallel_size = 1;
  std::string title{};    // "2x NVIDIA H100 SXM (TP 2)"
  std::int64_t gpus = 0;  // of all replicas
  std::string reason{};   // why there is no capacity; empty if there is
  LoadKind load = LoadKind::rate;
  std::optional<double> capacity{};          // the greatest load that holds; unset: none holds
  bool bounded = true;                       // a greater load fails; otherwise it is at least this
  double output_tokens_per_s = 0;            // at the capacity, at its rate
  std::string binding{};                     // there: the target nearest to failing
  ServingCost cost{};                        // at the capacity
  StepSources step_sources{};                // there; of several pools the first's
  double step_uncertainty = 0;               // likewise: one standard deviation
  std::vector<CapacityTablePoint> points{};  // loads within the SLO up to it, sorted
};

struct CapacityTableInputs {
  Scenario scenario{};
  std::vector<std::string> gpus{};
  std::vector<int> sizes{};
};

struct CapacityTableAnswer {
  AnswerHead head{};
  CapacityTableInputs inputs{};
  bool holds = false;                    // some row has a capacity
  std::string workload{};                // description of the load
  std::vector<CapacityTableRow> rows{};  // cheapest tokens first; without a capacity last
  std::int64_t simulations = 0;
};

/// Throws Error for input that no row can be read with, and when `progress`, which gets rows done
/// and all, cancels.
CapacityTableAnswer capacity_table(const CapacityTableQuestion& question,
                                   const Progress& progress = {});

/// Whether some row has a capacity.
bool is_yes(const CapacityTableAnswer& answer);

Json to_json(const CapacityTableAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key.
CapacityTableAnswer capacity_table_answer_from_json(const Json& json);

Json capacity_table_answer_schema();

}  // namespace roofcast
