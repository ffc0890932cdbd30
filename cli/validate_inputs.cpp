#include "cli/validate_inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "cli/feature_options.hpp"
#include "cli/flag_values.hpp"
#include "cli/measured_case.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

void take_meta(ImportOptions& options, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--meta: '" + pair + "' is not KEY=VALUE, such as gpu=h100");
    }
    options.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
}

bool says_lengths(const WorkloadOptions& given) { return given.input && given.output; }

/// The scenario that flags go on top of: what the file says, and what it must have to be read.
Scenario base_scenario(const MeasuredRun& run, const SimulateOptions& given) {
  json scenario = scenario_of(run);
  const DeploymentOptions& deployment = given.deployment;
  if (!deployment.model.empty()) scenario["model"] = deployment.model;
  if (!deployment.gpu.empty()) scenario["gpu"] = deployment.gpu;
  if (!deployment.engine.empty()) scenario["engine"] = deployment.engine;
  for (const char* key : {"model", "gpu"}) {
    if (scenario.contains(key)) continue;
    throw Error(fmt::format("{}: does not say its {}, expected --{}", run.origin, key, key));
  }
  if (!scenario.contains("workload")) {
    if (!says_lengths(given.workload)) {
      throw Error(run.origin +
                  ": does not say how long its requests were, expected --input-len "
                  "and --output-len");
    }
    scenario["workload"] = {{"type", "synthetic"}};
  }
  constexpr auto kReplace = json::error_handler_t::replace;  // of bytes that are no UTF-8
  return parse_scenario(scenario.dump(-1, ' ', false, kReplace), run.origin);
}

ValidationCase case_of(MeasuredRun run, const SimulateOptions& given) {
  ValidationCase result{.name = run.origin, .place = run.origin};
  result.figures = comparable_figures(run);
  result.measured = std::move(run);
  try {
    result.scenario = with_flags(base_scenario(result.measured, given), given);
    take_recorded_requests(result);
  } catch (const UsageError&) {
    throw;  // of a flag, whatever the file
  } catch (const Error& error) {
    result.problem = error.what();
  }
  return result;
}

/// Nothing where the file is no result of a known tool.
std::optional<std::vector<MeasuredRun>> read_results(const std::string& file,
                                                     const ImportOptions& options) {
  std::error_code failure;
  if (std::filesystem::is_directory(file, failure)) return read_measured(file, options);
  if (!options.format.empty()) return read_measured(file, options);
  return read_measured_file(file, options);
}

void refuse_idle_flags(const DeploymentOptions& given, const std::string& manifest) {
  const char* flag = !given.model.empty()    ? "--model"
                     : !given.gpu.empty()    ? "--gpu"
                     : !given.engine.empty() ? "--engine"
                                             : nullptr;
  if (flag == nullptr) return;
  throw UsageError(
      fmt::format("{}: {} is a manifest, which says what its cases ran on", flag, manifest));
}

}  // namespace

void add_result_options(Usage& usage, ValidationInputs& target) {
  po::options_description results = option_group("Results of benchmarks (no manifest)");
  results.add_options()("format", po::value(&target.import.format)->value_name("FORMAT"),
                        "the tool's format (default: by content)")(
      "meta",
      po::value<std::vector<std::string>>()
          ->multitoken()
          ->value_name("KEY=VALUE ...")
          ->notifier([&target](const std::vector<std::string>& pairs) {
            take_meta(target.import, pairs);
          }),
      "what the files do not say of their setting, as gpu=h100 tp=2");
  usage.options.add(results).add(machine_options(target.given.deployment));
  usage.unlisted.add(engine_options(target.given.deployment))
      .add(scheduler_options(target.given.deployment))
      .add(synthetic_options(target.given.workload))
      .add(feature_options(target.given.deployment.overrides));
  usage.unlisted.add_options()(
      "max-concurrency",
      converted(target.given.workload.max_concurrency, "--max-concurrency", parse_positive)
          ->value_name("N"),
      "requests in flight at once");
  usage.more = "More: the engine and its knobs, the load that a result does not say";
}

ValidationManifest read_inputs(const ValidationInputs& inputs) {
  ValidationManifest all;
  for (const std::string& file : inputs.files) {
    if (auto runs = read_results(file, inputs.import)) {
      for (MeasuredRun& run : *runs) all.cases.push_back(case_of(std::move(run), inputs.given));
      continue;
    }
    refuse_idle_flags(inputs.given.deployment, file);
    ValidationManifest manifest = read_manifest(file);
    if (inputs.files.size() == 1) all.name = manifest.name;
    std::move(manifest.cases.begin(), manifest.cases.end(), std::back_inserter(all.cases));
  }
  return all;
}

}  // namespace roofcast
