#include "validate/case_keys.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "planner/scenario/simulation_run.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {
namespace {

using nlohmann::json;
using Keys = std::map<std::string, std::string>;

std::string key_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Adds the values below `value` under their paths, which begin with `path`.
void add_values(const json& value, const std::string& path, Keys& keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      add_values(member, path.empty() ? key : path + "." + key, keys);
    }
  } else if (value.is_array() && !value.empty() && value.front().is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_values(value[i], fmt::format("{}.{}", path, i), keys);
    }
  } else {
    keys.emplace(path, key_text(value));
  }
}

/// "sglang" of "sglang-0.5.9".
std::string without_version(const std::string& engine) {
  for (std::size_t at = engine.find('-'); at != std::string::npos; at = engine.find('-', at + 1)) {
    const bool digit =
        at + 1 < engine.size() && std::isdigit(static_cast<unsigned char>(engine[at + 1])) != 0;
    if (digit) return engine.substr(0, at);
  }
  return engine;
}

std::int64_t gpus_in_pools(const Scenario& scenario) {
  std::int64_t gpus = 0;
  for (const PoolScenario& pool : pools_of(scenario)) {
    const ParallelismOptions parallel = deployment_options(scenario, pool).parallel;
    gpus += std::int64_t{pool.replicas} * with_given({}, parallel).gpus();
  }
  return gpus;
}

/// Mean of a distribution of lengths, where it is plain from its parameters.
std::optional<double> mean_of(const LengthDistribution& lengths) {
  using enum LengthDistribution::Kind;
  if (lengths.kind == fixed || lengths.kind == normal) return lengths.a;
  return lengths.kind == uniform ? std::optional((lengths.a + lengths.b) / 2) : std::nullopt;
}

/// The text of a path of `found`, or `otherwise`.
std::string value_at_path(const Keys& found, const char* path, const std::string& otherwise = "") {
  const auto at = found.find(path);
  return at == found.end() ? otherwise : at->second;
}

void add_short_names(const Scenario& scenario, Keys& keys) {
  const Parallelism parallel = with_given({}, scenario.deployment.parallel);
  const std::string engine = engine_name(scenario.deployment);
  keys.emplace("version", engine);
  keys.emplace("engine_name", without_version(engine));
  keys.emplace("dtype", scenario.deployment.weight_format.value_or(""));
  keys.emplace("tp", std::to_string(parallel.tensor));
  keys.emplace("pp", std::to_string(parallel.pipeline));
  keys.emplace("dp", std::to_string(parallel.data));
  keys.emplace("ep", parallel.expert_parallel ? "on" : "off");
  keys.emplace("gpus", std::to_string(gpus_in_pools(scenario)));
  keys.emplace("drafts", value_at_path(keys, "engine_options.num_speculative_tokens", "0"));
  keys.emplace("conc", value_at_path(keys, "max_concurrency", "-"));
  const auto* load = std::get_if<SyntheticWorkload>(&scenario.workload);
  if (load == nullptr) return;
  const auto tokens = mean_of(load->output);
  if (tokens && !load->range_ratio.output) {
    keys.emplace("output_tokens", fmt::format("{}", *tokens));
  }
  const std::string isl = value_at_path(keys, "workload.input_len");
  const std::string osl = value_at_path(keys, "workload.output_len");
  keys.emplace("isl", isl);
  keys.emplace("osl", osl);
  keys.emplace("load", isl + "/" + osl);
  keys.emplace("workload", isl + "/" + osl);
}

}  // namespace

std::map<std::string, std::string> keys_of(const ValidationCase& question) {
  Keys keys = question.labels;
  if (!question.problem.empty()) return keys;
  add_values(json::parse(to_json(question.scenario)), "", keys);
  add_short_names(question.scenario, keys);
  return keys;
}

}  // namespace roofcast
