#include "tests/model/memory/start_up_rows.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/io/model_reader.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;

/// Source of the shape of a model named in the logs. `source` is a catalogue name, or a folder
/// under ../shared/data/model_configs.
struct RowModel {
  const char* name;
  const char* source;
  const char* format = "";       // as the log says it is quantised; empty: as the config
  double vision_parameters = 0;  // where the reader does not know the tower
  std::int64_t max_context = 0;  // where the variant's differs
};

// Vision towers, from their configs:
//  granite-vision: SigLIP so400m without its pooling head (412 M) and two projections of
//    4 x 1152 -> 2048 -> 2048 (14 M).
constexpr RowModel kModels[] = {
    {"codellama/CodeLlama-7b-hf", "codellama-7b"},
    {"RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic", "other/llama-3.1-70b-instruct", "fp8"},
    {"redhatai/Llama-3.3-70B-Instruct-quantized.w8a8", "other/llama-3.1-70b-instruct", "int8"},
    {"neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", "other/llama-3.1-70b-instruct",
     "int8"},
    {"RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic", "other/qwen2.5-7b-instruct", "fp8"},
    {"Qwen/Qwen2.5-7B-Instruct", "other/qwen2.5-7b-instruct"},
    {"Qwen2.5-7B-Instruct", "other/qwen2.5-7b-instruct"},
    {"google/gemma-2-2b-it", "gemma-2-2b"},
    {"google/gemma-3-27b-it", "gemma-3-27b"},
    {"google/gemma-7b", "gemma-7b"},
    {"ibm-granite/granite-3.1-2b-instruct", "granite-3.1-2b"},
    {"ibm-granite/granite-vision-3.3-2b", "granite-vision-3.3-2b", "", 426e6},
    {"meta-llama/Llama-3.1-8B-Instruct", "other/llama-3.1-8b-instruct"},
    {"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "other/llama-3.1-8b-instruct", "int8"},
    {"meta-llama/Meta-Llama-3-8B", "other/llama-3.1-8b-instruct", "", 0, 8192},
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
    {"mistralai/Mistral-Small-3.1-24B-Instruct-2503", "mistral-small-3.1-24b"},
    {"mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-3.1-24b"},
    {"RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w8a8", "mistral-small-3.1-24b",
     "int8"},
    {"moonshotai/Kimi-VL-A3B-Instruct", "kimi-vl-a3b"},
    {"Qwen/Qwen1.5-MoE-A2.7B", "qwen1.5-moe-a2.7b"},
    {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
    {"Qwen3-8B-FP8", "Qwen/Qwen3-8B", "fp8_block"},
    {"Qwen/Qwen3-14B", "other/qwen3-14b"},
    {"Qwen/Qwen3-32B", "Qwen/Qwen3-32B"},
    {"openai/gpt-oss-20b", "openai/gpt-oss-20b"},
    {"llava-hf/llava-v1.6-mistral-7b-hf", "llava-v1.6-mistral-7b"},
    {"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "Qwen/Qwen3-235B-A22B-FP8", "", 0, 262144},
    {"GLM-5.2-NVFP4", "nvidia/GLM-5.2-NVFP4"},
    {"google/gemma-4-26B-A4B", "gemma-4-26b-a4b"},
    {"Qwen/Qwen2.5-1.5B-Instruct", "qwen2.5-1.5b"},
    {"Qwen2.5-Math-1.5B", "qwen2.5-1.5b", "", 0, 4096},
    {"not named ('8B'; 15.0 GiB bf16, 131072 context, 131072 B/token = Llama-3.1-8B shape)",
     "other/llama-3.1-8b-instruct"},
};

/// Rows that do not print their version, but something else in the log implies it.
struct InferredVersion {
  const char* id;
  const char* version;
};
constexpr InferredVersion kInferred[] = {
    {"v1-19", "0.29"},    // its default utilisation is 0.92
    {"v1-20", "0.10.2"},  // source line numbers of its messages
};

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::optional<std::int64_t> count(const json& object, const char* key) {
  const std::optional<double> value = number(object, key);
  if (!value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

Transformer load_row_model(const RowModel& known) {
  const std::filesystem::path folder = shared_data("model_configs") / known.source / "config.json";
  Transformer model = load_model(std::filesystem::exists(folder) ? folder.string() : known.source);
  if (known.format[0] != '\0') requantise(model, known.format);
  if (model.vision_parameters == 0) {
    model.vision_parameters = static_cast<std::int64_t>(known.vision_parameters);
  }
  if (known.max_context > 0) model.max_context = known.max_context;
  return model;
}

/// "0.19.0" for "0.19.0", "0.7.0" for "0.7.0 preset main"; empty if none was printed or inferred.
std::string version_of(const json& row) {
  for (const InferredVersion& inferred : kInferred) {
    if (text(row, "id") == inferred.id) return inferred.version;
  }
  const std::string printed = text(row, "engine_version");
  if (printed.empty() || std::isdigit(static_cast<unsigned char>(printed[0])) == 0) return "";
  return printed.substr(0, printed.find(' '));
}

EngineOverrides overrides_of(const json& row, const Transformer& model) {
  EngineOverrides overrides;
  overrides.gpu_memory_utilization = number(row, "gpu_memory_utilization");
  overrides.max_num_seqs = count(row, "max_num_seqs");
  overrides.max_num_batched_tokens = count(row, "max_num_batched_tokens");
  if (const auto length = count(row, "max_model_len")) {
    overrides.max_model_len = std::min(*length, model.max_context);
  }
  if (text(row, "kv_cache_dtype").rfind("fp8", 0) == 0) overrides.kv_cache_dtype = DType::fp8;
  const auto eager = row.find("enforce_eager");
  if (eager != row.end() && eager->is_boolean()) overrides.enforce_eager = eager->get<bool>();
  return overrides;
}

const RowModel* known_model(const std::string& name) {
  const auto known = std::find_if(std::begin(kModels), std::end(kModels),
                                  [&](const RowModel& m) { return name == m.name; });
  return known == std::end(kModels) ? nullptr : known;
}

/// Whether a preset exists for the version; there is none for V0.
bool has_era(const json& row) {
  return text(row, "engine") == "vllm-v1" && !version_of(row).empty();
}

std::string reason_left_out(const json& row) {
  if (text(row, "engine") != "vllm-v1") return "engine " + text(row, "engine");
  const std::string name = text(row, "model");
  if (known_model(name) == nullptr) return "model shape not known: '" + name + "'";
  if (version_of(row).empty()) return "engine version not printed";
  if (!number(row, "gpu_total_gib")) return "memory of the GPU not printed";
  return "";
}

/// Facts that do not affect weights (GPU memory, preset) are invented if the log does not print
/// them; reason_left_out reports that.
Deployment deployment_of(const json& row, const RowModel& known) {
  Transformer model = load_row_model(known);
  if (text(row, "model_dtype_or_quant") == "bf16 / fp8") requantise(model, "fp8");
  Parallelism parallel;
  parallel.tensor = static_cast<int>(count(row, "tp").value_or(1));
  parallel.pipeline = static_cast<int>(count(row, "pp").value_or(1));
  parallel.expert_parallel = text(row, "notes").find("with expert parallel") != std::string::npos;
  const EngineOverrides overrides = overrides_of(row, model);
  const std::string gpu = text(row, "gpu");
  const double total = number(row, "gpu_total_gib").value_or(80.0);
  return deploy(
      std::move(model), gpu_of(gpu.empty() ? "card" : gpu, total),
      has_era(row) && version_of(row) != "0.7.0" ? "vllm-" + version_of(row) : "vllm-0.11",
      overrides, parallel);
}

StartUpRow read_row(const json& row) {
  const json& logged = row.at("logged");
  StartUpRow result{.id = text(row, "id"),
                    .group = text(row, "group"),
                    .version = version_of(row),
                    .model = text(row, "model"),
                    .is_v1 = text(row, "engine") == "vllm-v1",
                    .hybrid = row.value("hybrid_or_nonuniform_kv", false),
                    .pipeline = static_cast<int>(count(row, "pp").value_or(1)),
                    .weights_gib = number(logged, "weights_gib"),
                    .non_torch_gib = number(logged, "non_torch_gib"),
                    .activation_gib = number(logged, "activation_peak_gib"),
                    .kv_gib = number(logged, "kv_available_gib"),
                    .graphs_gib = number(logged, "cuda_graph_gib"),
                    .kv_tokens = number(logged, "kv_tokens")};
  const auto derived = row.find("derived");
  if (!result.non_torch_gib && derived != row.end() && derived->is_object()) {
    result.non_torch_gib = number(*derived, "non_torch_gib");
  }
  const auto concurrency = number(logged, "max_concurrency");
  const auto length = number(row, "max_model_len");
  if (!result.kv_tokens && concurrency && length) result.kv_tokens = *concurrency * *length;
  result.left_out = reason_left_out(row);
  if (const RowModel* const known = known_model(result.model)) {
    result.deployment = deployment_of(row, *known);
  }
  return result;
}

}  // namespace

std::vector<StartUpRow> read_start_up_rows() {
  std::ifstream file(shared_data("measured/kv_capacity.json"));
  std::vector<StartUpRow> rows;
  for (const json& row : json::parse(file)) rows.push_back(read_row(row));
  return rows;
}

}  // namespace roofcast::test
