// The flags for workload and SLO: names as in `vllm bench serve`.
#pragma once

#include <memory>

#include "planner/flags/flag.hpp"
#include "planner/flags/load_shape_flags.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Command-line values; unset ones follow the scenario file or its defaults.
struct WorkloadOptions {
  std::optional<std::string> trace;
  std::shared_ptr<const std::string> trace_bytes;  // of --trace, if it is not a file
  std::optional<std::int64_t> max_requests;
  std::optional<TraceFormat> trace_format;
  std::optional<TraceColumnNames> trace_columns;
  std::optional<TraceTimeUnit> trace_time_unit;
  std::optional<std::int64_t> trace_block_size;
  std::optional<double> time_scale;
  std::optional<double> rate_scale;
  std::optional<double> trace_rate;
  bool skip_bad_rows = false;
  bool drop_failed = false;
  std::optional<std::int64_t> num_prompts;
  std::optional<double> request_rate;
  std::optional<double> burstiness;
  std::optional<LengthDistribution> input;
  std::optional<LengthDistribution> output;
  LoadShapeOptions shape;
  std::optional<std::int64_t> max_concurrency;
  std::optional<std::int64_t> max_tokens;  // kNoMaxTokens for "none"
  std::optional<std::uint64_t> seed;
  std::vector<std::string> goodput;  // "ttft:500"
  std::vector<std::string> slo;      // "p95:ttft:500ms"
};

/// Flags for synthetic workloads only.
const Flags<WorkloadOptions>& synthetic_flags();

/// --trace and its knobs.
const Flags<WorkloadOptions>& trace_flags();

/// The format of the --trace file if it cannot be detected, and further ways to scale its rate.
const Flags<WorkloadOptions>& trace_form_flags();

/// The client's concurrency limit and the SLO.
const Flags<WorkloadOptions>& objective_flags();

/// Whether any flag of a synthetic workload is given.
bool is_synthetic(const WorkloadOptions& options);

/// Writes the given values into `scenario`. Throws UsageError if trace and synthetic flags are
/// mixed.
void apply(const WorkloadOptions& options, Scenario& scenario);

}  // namespace roofcast
