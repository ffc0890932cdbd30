// The runs of a store, and the step that stores a simulation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Stores a simulation and what it costs, in one transaction; returns the run's id. `command_line`
/// is how the run can be repeated; `keep_requests` also stores one row per request.
std::int64_t store_simulation(Store& store, const SimulationRun& run,
                              const std::string& command_line, bool keep_requests = false);

/// Throws Error if there is no such run; `store_name` is what errors call the store.
Run stored_run(const Store& store, const std::string& store_name, std::int64_t id);

/// Throws UsageError, which starts with `key`, unless a run may have that name: at most 80 bytes of
/// text on one line, without control characters, which a terminal would obey.
void check_run_name(const std::string& name, const std::string& key);

/// A kind of run as readers call it: "what if" of "whatif".
std::string kind_title(const std::string& kind);

/// The kind of a run and what it ran on. Imported ones may name no model, GPU or engine: empty.
struct RunNames {
  std::string_view kind{}, model{}, gpu{}, engine{};
};

/// "simulate of llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19", without what is not known.
std::string words_of(const RunNames& run);

/// The columns of `runs`, without input and profile.
Json to_json(const RunRow& row);

/// What `roofcast runs -o json` prints.
Json runs_json(std::span<const RunRow> rows, const std::string& store_name);

/// What `roofcast runs ID -o json` prints. Throws Error if the stored input is not JSON.
Json run_json(const Run& run, const std::string& store_name);

}  // namespace roofcast
