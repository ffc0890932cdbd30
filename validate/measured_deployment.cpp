#include "validate/measured_deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "validate/measured_options.hpp"
#include "validate/server_arguments.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

bool is_on(const MeasuredSetting& setting, const char* key) {
  return switch_in(key, value_of(setting, key)).value_or(false);
}

/// Whether the setting has a value other than "none".
bool is_named(const MeasuredSetting& setting, const char* key) {
  const json value = value_of(setting, key);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return value.is_object();
  const std::string word = lower(value.get<std::string>());
  return !word.empty() && word != "none" && word != "null" && word != "off" && word != "false";
}

[[noreturn]] void refuse(const MeasuredRun& run, const std::string& what) {
  throw Error(fmt::format("{}: {}", run.origin, what));
}

/// Whether the run used drafts: its settings name them, or it accepted more than one token per
/// step.
bool ran_with_drafts(const MeasuredRun& run) {
  for (const char* key :
       {"spec_decoding", "speculative_algorithm", "speculative_config", "speculative_model"}) {
    if (is_named(run.setting, key)) return true;
  }
  return std::any_of(run.metrics.begin(), run.metrics.end(), [](const MetricRow& row) {
    return row.name == "acceptance_length" && row.value > 1;
  });
}

}  // namespace

void check_deployment(const MeasuredRun& run, const Scenario& scenario) {
  if (scenario.cluster) return;
  const MeasuredSetting& setting = run.setting;
  constexpr const char* kInAManifest = "expected a manifest with its scenario";
  if (is_on(setting, "disagg") || is_named(setting, "disaggregation_mode")) {
    refuse(run, fmt::format("prefills and decodes on separate GPUs, {}", kInAManifest));
  }
  if (is_on(setting, "is_multinode")) {
    refuse(run, fmt::format("ran on several nodes, {}", kInAManifest));
  }
  if (setting.other.contains("stack")) {
    refuse(run, fmt::format("ran on a stack of several engines, {}", kInAManifest));
  }
  const double replicas = number_in(value_of(setting, "replicas")).value_or(1);
  if (replicas > 1) refuse(run, fmt::format("ran on {:g} replicas, {}", replicas, kInAManifest));
  if (ran_with_drafts(run) && !scenario.deployment.overrides.num_speculative_tokens) {
    refuse(run,
           "ran with speculative decoding, expected `num_speculative_tokens` and "
           "`acceptance_rate`");
  }
  const int gpus = with_given({}, scenario.deployment.parallel).gpus();
  if (setting.gpus.value_or(gpus) == gpus) return;
  refuse(run, fmt::format("ran on {}, and its TP x PP x DP is {}, expected `tensor_parallel_size` "
                          "(or `meta` gpus={})",
                          counted(*setting.gpus, "GPU"), gpus, gpus));
}

namespace {

/// The preset that a bare name means; of an unknown engine the name, which the prediction refuses.
std::string preset_meant_by(const std::string& engine) {
  try {
    return find_preset(engine).name;
  } catch (const Error&) {
    return engine;
  }
}

std::vector<std::string> engine_taken(const MeasuredSetting& setting) {
  if (setting.engine.empty()) {
    return {fmt::format("engine not stated: assumed {} (`engine`)", kDefaultEngine)};
  }
  if (!setting.engine_version.empty()) return {};
  return {fmt::format("version of {} not stated: assumed {} (`engine` {}-VERSION)", setting.engine,
                      preset_meant_by(setting.engine), setting.engine)};
}

}  // namespace

std::vector<std::string> assumptions_of(const MeasuredSetting& setting) {
  std::vector<std::string> lines = engine_taken(setting);
  const std::vector<std::string> left = server_arguments_of(setting).not_modelled;
  if (!left.empty()) {
    lines.push_back(
        fmt::format("the server ran with {}, which is not modelled: predicted without it",
                    fmt::join(left, ", ")));
  }
  return lines;
}

std::vector<std::string> parallel_assumed(const MeasuredSetting& setting,
                                          const Scenario& scenario) {
  const ParallelismOptions& parallel = scenario.deployment.parallel;
  const bool stated =
      scenario.cluster || setting.gpus || parallel.tensor || parallel.pipeline || parallel.data;
  if (stated) return {};
  return {"number of GPUs not stated: assumed TP 1 (`tensor_parallel_size`)"};
}

bool is_deployment_key(std::string_view key) {
  constexpr std::array<std::string_view, 14> kKeys = {"disagg",
                                                      "disaggregation_mode",
                                                      "is_multinode",
                                                      "replicas",
                                                      "spec_decoding",
                                                      "speculative_algorithm",
                                                      "speculative_config",
                                                      "speculative_model",
                                                      "enable_expert_parallel",
                                                      "ep",
                                                      "ep_size",
                                                      "expert_parallel_size",
                                                      "batch_size",
                                                      "dtype"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

}  // namespace roofcast
