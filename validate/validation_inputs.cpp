#include "validate/validation_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/suggest.hpp"
#include "reports/importers/setting_keys.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "validate/measured_case.hpp"
#include "validate/measured_deployment.hpp"
#include "validate/measured_load.hpp"
#include "validate/measured_options.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

bool says_lengths(const MeasuredRun& run, const WorkloadOptions& given) {
  return (given.input || run.setting.mean_input_tokens) &&
         (given.output || run.setting.mean_output_tokens);
}

/// Flags override the file's load; its own requests keep their lengths, but not their times if a
/// rate is given.
void take_load(MeasuredRun& run, const WorkloadOptions& given) {
  if (given.max_concurrency) run.setting.max_concurrency = given.max_concurrency;
  if (given.num_prompts) run.setting.requests = given.num_prompts;
  if (!given.request_rate) return;
  run.setting.request_rate_per_s = given.request_rate;
  for (RequestRow& row : run.requests) row.sent_s = row.arrival_s = 0;
}

/// Rejects an unspecified load, which would be assumed to arrive all at once.
void check_load(const MeasuredRun& run) {
  if (!says_load(run)) {
    throw Error(run.origin +
                ": does not state its load, expected `request_rate` (inf: all at once) or "
                "`max_concurrency`");
  }
  if (says_requests(run)) return;
  throw Error(run.origin +
              ": does not state the number of requests sent at once, expected `num_prompts`");
}

/// The options that still apply to the scenario of `run`: a rate is already in its requests.
ScenarioOptions left_for(const MeasuredRun& run, ScenarioOptions given) {
  const WorkloadOptions& load = given.workload;
  const bool replays = !run.requests.empty() && !load.input && !load.output && !load.num_prompts;
  if (replays) given.workload.request_rate.reset();
  return given;
}

/// Lengths and arrivals, which the file or the flags must give.
json load_of(const MeasuredRun& run, const json& scenario, const WorkloadOptions& given) {
  if (!scenario.contains("workload") && !says_lengths(run, given)) {
    throw Error(
        run.origin +
        ": does not state the lengths of its requests, expected `input_len` and `output_len`");
  }
  check_load(run);
  return scenario.contains("workload") ? scenario["workload"] : drawn_load(run);
}

/// Figures from a server's start-up memory log, which do not depend on load.
bool is_about_memory(const std::vector<MetricRow>& figures) {
  const auto is_capacity = [](const MetricRow& row) {
    return row.name.starts_with("kv_") || row.name == "max_concurrency" ||
           row.name == "max_sequences";
  };
  return !figures.empty() && std::all_of(figures.begin(), figures.end(), is_capacity);
}

/// The scenario under the flags: the file's settings, and what is required to parse it.
Scenario base_scenario(const MeasuredRun& run, ValidationAsk ask, const ScenarioOptions& given) {
  json scenario = scenario_of(run);
  const DeploymentOptions& deployment = given.deployment;
  if (!deployment.model.empty()) scenario["model"] = deployment.model;
  if (!deployment.gpu.empty()) scenario["gpu"] = deployment.gpu;
  if (!deployment.engine.empty()) scenario["engine"] = deployment.engine;
  for (const char* key : {"model", "gpu"}) {
    if (scenario.contains(key)) continue;
    throw Error(fmt::format("{}: does not state its {}, expected `{}`", run.origin, key, key));
  }
  scenario["workload"] = ask == ValidationAsk::memory ? json{{"type", "synthetic"}}
                                                      : load_of(run, scenario, given.workload);
  constexpr auto kReplace = json::error_handler_t::replace;  // for bytes that are not UTF-8
  return parse_scenario(scenario.dump(-1, ' ', false, kReplace), run.origin);
}

ValidationCase case_of(MeasuredRun run, const ScenarioOptions& given) {
  ValidationCase result{.name = run.origin, .place = run.origin};
  result.figures = comparable_figures(run);
  result.measured = std::move(run);
  if (is_about_memory(result.figures)) result.ask = ValidationAsk::memory;
  try {
    take_load(result.measured, given.workload);
    result.scenario = with_options(base_scenario(result.measured, result.ask, given),
                                   left_for(result.measured, given));
    check_deployment(result.measured, result.scenario);
    if (given.deployment.engine.empty()) {
      result.assumed = assumptions_of(result.measured.setting);
    }
    const auto parallel = parallel_assumed(result.measured.setting, result.scenario);
    result.assumed.insert(result.assumed.end(), parallel.begin(), parallel.end());
    take_recorded_requests(result);
  } catch (const UsageError&) {
    throw;  // an error in a flag, independent of the file
  } catch (const Error& error) {
    result.problem = error.what();
  }
  return result;
}

ValidationCase broken_case(const std::string& file, const std::string& problem) {
  return {.name = file, .place = file, .problem = problem};
}

/// A manifest states the hardware of its cases: an override would have no effect.
void refuse_idle_override(const ValidationFiles& inputs, const std::string& manifest) {
  if (inputs.override_name.empty()) return;
  throw UsageError(fmt::format("{}: {} is a manifest, which already states what its cases ran on",
                               inputs.override_name, manifest));
}

/// Keys of --meta that no prediction uses: they may be misspelled.
std::vector<std::string> idle_meta(const ImportOptions& options) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : options.meta) {
    if (is_setting_key(key) || is_engine_option(key) || is_deployment_key(key)) continue;
    lines.push_back(fmt::format("`meta`: {} is unknown and has no effect{}", shown(key),
                                did_you_mean(key, engine_option_names())));
  }
  return lines;
}

void add_runs(std::vector<MeasuredRun> runs, const ValidationFiles& inputs,
              ValidationManifest& all) {
  for (MeasuredRun& run : runs) all.cases.push_back(case_of(std::move(run), inputs.given));
}

void add_folder(const std::string& folder, const ValidationFiles& inputs, ValidationManifest& all) {
  FolderReading reading = read_folder(folder, inputs.import);
  if (reading.runs.empty() && reading.broken.empty()) {
    throw Error(folder + ": contains no result of a known format");
  }
  add_runs(std::move(reading.runs), inputs, all);
  for (const BrokenFile& broken : reading.broken) {
    all.cases.push_back(broken_case(broken.path, broken.problem));
    all.whole = false;
  }
  const std::string note = passed_over_note(reading);
  if (!note.empty()) all.remarks.push_back(note);
}

void add_manifest(const std::string& file, const ValidationFiles& inputs, ValidationManifest& all) {
  ValidationManifest manifest = read_manifest(file);
  refuse_idle_override(inputs, file);
  if (inputs.files.size() == 1) all.name = manifest.name;
  std::move(manifest.cases.begin(), manifest.cases.end(), std::back_inserter(all.cases));
}

void add_input(const std::string& file, const ValidationFiles& inputs, ValidationManifest& all) {
  std::error_code failure;
  if (std::filesystem::is_directory(file, failure)) return add_folder(file, inputs, all);
  if (!inputs.import.format.empty()) {
    return add_runs(read_measured(file, inputs.import), inputs, all);
  }
  auto runs = read_measured_file(file, inputs.import);
  return runs ? add_runs(*std::move(runs), inputs, all) : add_manifest(file, inputs, all);
}

}  // namespace

ValidationManifest read_inputs(const ValidationFiles& inputs) {
  ValidationManifest all{.remarks = idle_meta(inputs.import)};
  for (const std::string& file : inputs.files) {
    try {
      add_input(file, inputs, all);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (inputs.files.size() == 1) throw;
      all.cases.push_back(broken_case(file, error.what()));
      all.whole = false;
    }
  }
  add_runs(inputs.runs, inputs, all);
  return all;
}

}  // namespace roofcast
