// llama-bench -o json or jsonl (llama.cpp): one sequence; n_prompt tokens of prefill, n_gen of
// decode, or both in turn.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kNanosecond = 1e-9;

/// Statistics of one of `parts` equal parts of a test: of its samples, or those that the file
/// states.
void add_times(MeasuredRun& run, std::string_view metric, const JsonReader& test, double parts) {
  const double unit = kNanosecond / parts;
  add_metric(run, metric, "mean", test.number("avg_ns"), unit);
  add_metric(run, metric, "std", test.number("stddev_ns"), unit);
  auto samples = test.numbers("samples_ns").value_or(std::vector<double>{});
  for (double& sample : samples) sample *= unit;
  add_samples(run, metric, std::move(samples));
}

void read_llama_bench_setting(MeasuredSetting& setting, const JsonReader& test) {
  setting.engine = "llama.cpp";
  if (const auto build = test.count("build_number")) {
    setting.engine_version = "b" + std::to_string(*build);
  }
  setting.model = test.text("model_filename").value_or("");
  setting.quantization = test.text("model_type").value_or("");
  setting.gpu = test.text("gpu_info").value_or("");
  if (setting.gpu.empty()) setting.gpu = test.text("cpu_info").value_or("");
  setting.max_concurrency = 1;
  for (const char* key :
       {"n_batch", "n_ubatch", "n_threads", "n_gpu_layers", "type_k", "type_v", "flash_attn",
        "n_prompt", "n_gen", "n_depth", "model_size", "model_n_params", "backends"}) {
    if (test.has(key)) setting.other[key] = as_other(test.value().at(key));
  }
}

}  // namespace

bool is_llama_bench(const json& first) {
  return first.contains("build_commit") && first.contains("avg_ts");
}

void read_llama_bench(const JsonReader& test, MeasuredRuns& runs) {
  MeasuredRun run{.origin = test.where(), .format = "llama-bench"};
  read_llama_bench_setting(run.setting, test);
  const auto prompt = static_cast<double>(test.count("n_prompt").value_or(0));
  const auto generated = static_cast<double>(test.count("n_gen").value_or(0));
  if (prompt > 0) run.setting.mean_input_tokens = prompt;
  if (generated > 0) run.setting.mean_output_tokens = generated;
  const auto rate = test.number("avg_ts");
  if (prompt > 0 && generated > 0) {
    add_times(run, "e2e_s", test, 1);
    add_metric(run, "total_tokens_per_s", "value", rate);
  } else if (generated > 0) {
    add_times(run, "tpot_s", test, generated);
    add_metric(run, "output_tokens_per_s", "value", rate);
  } else {
    add_times(run, "prefill_s", test, 1);
    add_metric(run, "input_tokens_per_s", "value", rate);
  }
  run.created_at = test.text("test_time").value_or("");
  runs.push_back(std::move(run));
}

}  // namespace roofcast
