// Rows of InferenceX (InferenceMAX): vLLM's latencies in seconds, throughput per GPU. "*_intvty" is
// 1 / TPOT and is skipped.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/latency_keys.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kInferencexValues = {
    ValueKey{"tput_per_gpu", "total_tokens_per_s_per_gpu"},
    ValueKey{"output_tput_per_gpu", "output_tokens_per_s_per_gpu"},
    ValueKey{"input_tput_per_gpu", "input_tokens_per_s_per_gpu"},
};

bool is_measured(const std::string& key) {
  return is_among(kInferencexValues, key) || is_latency_key(key, "") || key.ends_with("_intvty");
}

}  // namespace

bool is_inferencex(const json& first) {
  return first.contains("hw") && first.contains("conc") && first.contains("tput_per_gpu");
}

void read_inferencex(const JsonReader& row, MeasuredRuns& runs) {
  MeasuredRun run{.origin = row.where(), .format = "inferencex"};
  add_values(run, row, kInferencexValues);
  add_latency_keys(run, row, {.suffix = "", .unit = 1});
  MeasuredSetting& setting = run.setting;
  for (const auto& [key, value] : row.value().items()) {
    if (!is_measured(key)) set_from_key(setting, key, value, row.where());
  }
  setting.max_concurrency = row.count("conc");
  setting.other.erase("conc");
  share_attention(setting, row.where());
  const std::string engine = engine_in(setting.engine);
  if (!engine.empty()) setting.engine = engine;
  runs.push_back(std::move(run));
}

}  // namespace roofcast
