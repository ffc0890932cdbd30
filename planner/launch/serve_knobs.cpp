#include "planner/launch/serve_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "model/engines/knobs.hpp"
#include "planner/launch/serve_formats.hpp"
#include "planner/scenario/speculative_config.hpp"

namespace roofcast {
namespace {

using Text = std::optional<std::string>;

[[noreturn]] void refuse(const std::string& flag, const std::string& text,
                         std::string_view expected) {
  throw UsageError(fmt::format("{}: '{}' is not {}", flag, shown(text), expected));
}

double read_number(const std::string& text, const std::string& flag) {
  const auto value = to_number<double>(text);
  if (!value || *value < 0) refuse(flag, text, "a number");
  return *value;
}

std::string number_text(double value) { return fmt::format("{}", value); }

/// A member of the words, of their degrees, or of their overrides.
template <auto kMember, class Words>
auto& at(Words& words) {
  if constexpr (std::is_invocable_v<decltype(kMember), Words&>) {
    return words.*kMember;
  } else if constexpr (std::is_invocable_v<decltype(kMember), ParallelismOptions&>) {
    return words.degrees.*kMember;
  } else {
    return words.overrides.*kMember;
  }
}

// ---- one reader and writer per type

template <auto kMember>
ServeKnob count_knob(std::string_view name) {
  return {
      .name = name,
      .read = [](ServeWords& words, const std::string& text,
                 const std::string& flag) { at<kMember>(words) = read_serve_count(text, flag); },
      .write = [](const ServeWords& words) -> Text {
        const auto& count = at<kMember>(words);
        return count ? Text(fmt::format("{}", *count)) : Text();
      }};
}

template <auto kMember>
ServeKnob degree_knob(std::string_view name) {
  return {.name = name,
          .read =
              [](ServeWords& words, const std::string& text, const std::string& flag) {
                const std::int64_t degree = read_serve_count(text, flag);
                if (degree < 1 || degree > kMaxDegree) refuse(flag, text, "a number of GPUs");
                at<kMember>(words) = static_cast<int>(degree);
              },
          .write = [](const ServeWords& words) -> Text {
            const auto& degree = at<kMember>(words);
            return degree ? Text(fmt::format("{}", *degree)) : Text();
          }};
}

template <auto kMember>
ServeKnob number_knob(std::string_view name) {
  return {.name = name,
          .read = [](ServeWords& words, const std::string& text,
                     const std::string& flag) { at<kMember>(words) = read_number(text, flag); },
          .write = [](const ServeWords& words) -> Text {
            const auto& number = at<kMember>(words);
            return number ? Text(number_text(*number)) : Text();
          }};
}

template <auto kMember>
ServeKnob switch_knob(std::string_view name) {
  return {
      .name = name,
      .read = [](ServeWords& words, const std::string& text,
                 const std::string& flag) { at<kMember>(words) = read_serve_switch(text, flag); },
      .write = [](const ServeWords& words) -> Text {
        const auto& on = at<kMember>(words);
        return on ? Text(*on ? "true" : "false") : Text();
      }};
}

// ---- knobs with special values

/// trtllm-serve --backend: "tensorrt" runs pre-built engines, as all versions up to 0.18 did.
void read_backend(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "pytorch") return;
  if (text == "tensorrt" || text == "trt") {
    words.preset = "trtllm-0.18";
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_backend(const ServeWords& words) {
  return words.preset == "trtllm-0.18" ? Text("tensorrt") : Text();
}

void read_model(ServeWords& words, const std::string& text, const std::string& flag) {
  if (!words.model.empty() && words.model != text) {
    throw UsageError(fmt::format("{}: the command names two models, '{}' and '{}'", flag,
                                 shown(words.model), shown(text)));
  }
  words.model = text;
}

Text write_model(const ServeWords& words) {
  return words.model.empty() ? Text() : Text(words.model);
}

void read_model_len(ServeWords& words, const std::string& text, const std::string& flag) {
  EngineOverrides& knobs = words.overrides;
  knobs.max_model_len.reset();
  knobs.fit_model_len = text == "auto" || text == "-1";
  if (!knobs.fit_model_len) knobs.max_model_len = read_serve_count(text, flag);
}

Text write_model_len(const ServeWords& words) {
  if (words.overrides.fit_model_len) return "auto";
  return serve_knobs::kSglangModelLen.write(words);
}

/// SGLang's chunked_prefill_size, where -1 turns chunked prefill off.
void read_chunk_size(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.enable_chunked_prefill = text != "-1";
  if (text != "-1") words.overrides.max_num_batched_tokens = read_serve_count(text, flag);
}

Text write_chunk_size(const ServeWords& words) {
  if (words.overrides.enable_chunked_prefill == false) return "-1";
  return serve_knobs::kBatchedTokens.write(words);
}

void read_kv_memory(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.kv_cache_memory = Bytes{static_cast<double>(read_serve_count(text, flag))};
}

Text write_kv_memory(const ServeWords& words) {
  const auto& bytes = words.overrides.kv_cache_memory;
  return bytes ? Text(fmt::format("{:.0f}", bytes->value)) : Text();
}

// vLLM's --kv-offloading-size is in GiB.
void read_offloading_size(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.kv_offloading_size = Bytes{read_number(text, flag) * kGiB};
}

Text write_offloading_size(const ServeWords& words) {
  const auto& bytes = words.overrides.kv_offloading_size;
  return bytes ? Text(number_text(bytes->value / kGiB)) : Text();
}

void read_offloading_backend(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.kv_offloading_backend = parse_offloading_backend(text);
  if (!words.overrides.kv_offloading_backend) words.not_modelled.push_back(flag + " " + text);
}

Text write_offloading_backend(const ServeWords& words) {
  const auto& backend = words.overrides.kv_offloading_backend;
  return backend ? Text(std::string(name_of(*backend))) : Text();
}

// The connector that --kv-offloading-size stands for may be named itself (0.22, config/vllm.py,
// _post_init_kv_transfer_config).
void read_transfer_config(ServeWords& words, const std::string& text, const std::string& flag) {
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  const auto* extra = [&]() -> const nlohmann::json* {
    const bool object = config.is_object() && config.contains("kv_connector_extra_config");
    return object ? &config["kv_connector_extra_config"] : nullptr;
  }();
  const bool native = extra != nullptr && extra->is_object() && config.contains("kv_connector") &&
                      (config["kv_connector"] == "OffloadingConnector" ||
                       config["kv_connector"] == "SimpleCPUOffloadConnector");
  if (native && extra->contains("cpu_bytes_to_use") && (*extra)["cpu_bytes_to_use"].is_number()) {
    words.overrides.kv_offloading_size = Bytes{(*extra)["cpu_bytes_to_use"].get<double>()};
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

void read_runner(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "pooling") {
    words.overrides.pooling = true;
  } else if (text != "generate" && text != "auto") {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_runner(const ServeWords& words) {
  return words.overrides.pooling.value_or(false) ? Text("pooling") : Text();
}

/// {"image": 2, "video": 0}, or a modality's {"count": 2}. The encoder stays unless both are 0.
void read_image_limit(ServeWords& words, const std::string& text, const std::string& flag) {
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  const auto limit = [&](const char* modality) -> std::optional<std::int64_t> {
    if (!config.is_object() || !config.contains(modality)) return std::nullopt;
    const nlohmann::json& one = config[modality];
    const nlohmann::json count = one.is_object() ? one.value("count", nlohmann::json()) : one;
    if (!count.is_number_unsigned()) return std::nullopt;
    // Beyond what a count holds is beyond the knob's range, too.
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(count.get<std::uint64_t>(), kMost));
  };
  const std::optional<std::int64_t> images = limit("image"), videos = limit("video");
  if (images && (*images > 0 || videos == 0)) {
    words.overrides.limit_mm_per_prompt = images;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_image_limit(const ServeWords& words) {
  const auto& limit = words.overrides.limit_mm_per_prompt;
  if (!limit) return Text();
  return *limit == 0 ? Text("{\"image\": 0, \"video\": 0}")
                     : Text(fmt::format("{{\"image\": {}}}", *limit));
}

void read_language_only(ServeWords& words, const std::string& text, const std::string& flag) {
  if (read_serve_switch(text, flag)) words.overrides.limit_mm_per_prompt = 0;
}

// SGLang's --hicache-size is in 1e9 bytes; 0 leaves it to --hicache-ratio.
void read_hicache_size(ServeWords& words, const std::string& text, const std::string& flag) {
  const double size = read_number(text, flag);
  if (size > 0) words.overrides.hicache_size = Bytes{size * 1e9};
}

Text write_hicache_size(const ServeWords& words) {
  const auto& bytes = words.overrides.hicache_size;
  return bytes ? Text(number_text(bytes->value / 1e9)) : Text();
}

void read_order(ServeWords& words, const std::string& text, const std::string& flag) {
  if (const auto order = parse_queue_order(text)) {
    words.overrides.scheduling_policy = order;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_order(const ServeWords& words, bool sglang) {
  const auto& order = words.overrides.scheduling_policy;
  if (!order) return std::nullopt;
  const bool only_sglang =
      *order == QueueOrder::longest_prefix || *order == QueueOrder::longest_output;
  const bool only_vllm = *order == QueueOrder::priority;
  if (sglang ? only_vllm : only_sglang) return std::nullopt;
  return Text(name_of(*order));
}

/// "vllm" stops the model's generation_config.json from asking for top-p or penalties.
void read_generation_config(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "auto") return;
  if (text == "vllm") {
    words.overrides.sampling = SamplingKind::plain;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_generation_config(const ServeWords& words) {
  return words.overrides.sampling == SamplingKind::plain ? Text("vllm") : Text();
}

void read_drafts(ServeWords& words, const std::string& text, const std::string& flag) {
  const SpeculativeConfig config = parse_speculative_config(text, flag);
  const auto method = config.modelled();
  if (!method || !config.num_speculative_tokens) {
    words.not_modelled.push_back(flag + " " + text);
    return;
  }
  words.overrides.num_speculative_tokens = config.num_speculative_tokens;
  words.overrides.speculative_method = method;
  if (method == DraftMethod::draft_model) words.draft_model = config.model;
}

/// SGLang's algorithms (0.5.15, speculative/spec_info.py). NEXTN is EAGLE on the model's own head.
void read_draft_algorithm(ServeWords& words, const std::string& text, const std::string& flag) {
  const std::string name = lower(text);
  EngineOverrides& knobs = words.overrides;
  if (name == "eagle" || name == "eagle3") {
    knobs.speculative_method = DraftMethod::eagle;
  } else if (name == "nextn") {
    knobs.speculative_method = DraftMethod::mtp;
  } else if (name == "standalone") {
    knobs.speculative_method = DraftMethod::draft_model;
  } else {
    words.not_modelled.push_back(flag + " " + text);
    return;
  }
  words.draft_algorithm = text;
}

void read_draft_model(ServeWords& words, const std::string& text, const std::string&) {
  words.draft_model = text;
}

/// ATOM's two formats (0.1.2, arg_utils.py).
Text write_atom_cache_dtype(const ServeWords& words) {
  const auto& dtype = words.overrides.kv_cache_dtype;
  if (dtype == DType::fp8) return "fp8";
  return dtype == DType::bf16 ? Text("bf16") : Text();
}

/// ATOM's methods: mtp, from 0.1.3 on also eagle3.
void read_atom_drafts(ServeWords& words, const std::string& text, const std::string& flag) {
  const std::optional<DraftMethod> method = parse_draft_method(text);
  if (method != DraftMethod::mtp && method != DraftMethod::eagle)
    refuse(flag, text, "mtp or eagle3");
  words.overrides.speculative_method = method;
}

Text write_atom_drafts(const ServeWords& words) {
  const auto& method = words.overrides.speculative_method;
  if (method == DraftMethod::eagle) return "eagle3";
  return method == DraftMethod::mtp ? Text("mtp") : Text();
}

/// SGLang's n-gram drafts come in trees of their own, which are not modelled.
Text write_draft_algorithm(const ServeWords& words) {
  const auto& method = words.overrides.speculative_method;
  if (method == DraftMethod::eagle) return "EAGLE";
  if (method == DraftMethod::mtp) return "NEXTN";
  return method == DraftMethod::draft_model ? Text("STANDALONE") : Text();
}

/// The steps of a chain or tree, and what SGLang wants beside them.
Text write_draft_steps(const ServeWords& words) {
  const EngineOverrides& knobs = words.overrides;
  const bool has_flags =
      knobs.speculative_method.value_or(DraftMethod::eagle) != DraftMethod::ngram;
  if (!has_flags || knobs.num_speculative_tokens.value_or(0) == 0) return std::nullopt;
  return fmt::format("{}", *knobs.num_speculative_tokens);
}

Text write_draft_branches(const ServeWords& words) {
  const auto& branches = words.overrides.speculative_eagle_topk;
  if (branches) return fmt::format("{}", *branches);
  return write_draft_steps(words) ? Text("1") : Text();
}

Text write_draft_tree(const ServeWords& words) {
  const auto& tokens = words.overrides.speculative_num_draft_tokens;
  if (tokens) return fmt::format("{}", *tokens);
  if (!write_draft_steps(words)) return std::nullopt;
  return fmt::format("{}", *words.overrides.num_speculative_tokens + 1);
}

/// vLLM's --eplb-config; what else it holds says how often and how experts are moved.
void read_eplb_config(ServeWords& words, const std::string& text, const std::string& flag) {
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) refuse(flag, text, "JSON such as {\"num_redundant_experts\": 32}");
  const auto copies = config.find("num_redundant_experts");
  if (copies != config.end()) {
    words.overrides.num_redundant_experts = read_serve_count(copies->dump(), flag);
  }
}

Text write_eplb_config(const ServeWords& words) {
  const auto& copies = words.overrides.num_redundant_experts;
  return copies ? Text(fmt::format("{{\"num_redundant_experts\": {}}}", *copies)) : Text();
}

/// vLLM's default rank (0.19, config/lora.py, max_lora_rank).
constexpr std::int64_t kDefaultLoraRank = 16;

void read_lora(ServeWords& words, const std::string& text, const std::string& flag) {
  auto& rank = words.overrides.max_lora_rank;
  if (read_serve_switch(text, flag) && !rank) rank = kDefaultLoraRank;
}

Text write_lora(const ServeWords& words) {
  return words.overrides.max_lora_rank ? Text("true") : Text();
}

Text write_drafts(const ServeWords& words) {
  const EngineOverrides& knobs = words.overrides;
  if (knobs.num_speculative_tokens.value_or(0) == 0) return std::nullopt;
  return fmt::format("{{\"method\": \"{}\", \"num_speculative_tokens\": {}}}",
                     name_of(knobs.speculative_method.value_or(DraftMethod::ngram)),
                     *knobs.num_speculative_tokens);
}

// ---- captured batches

/// "1,2,4", as several words of a command are joined and YAML's lists read, or "[1, 2, 4]".
std::vector<std::int64_t> read_serve_counts(const std::string& text, const std::string& flag,
                                            const char* expected) {
  std::string list = text;
  std::erase_if(list, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::vector<std::int64_t> counts;
  for (const std::string_view one : split(list, ',')) {
    counts.push_back(read_serve_count(std::string(one), flag));
  }
  if (std::ranges::find(counts, 0) != counts.end()) refuse(flag, text, expected);
  return counts;
}

void read_graph_sizes(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.cuda_graph_batch_sizes = read_serve_counts(text, flag, "a list of batch sizes");
}

void read_windows(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.max_attention_window =
      read_serve_counts(text, flag, "a list of windows in tokens");
}

Text write_list(const std::optional<std::vector<std::int64_t>>& list) {
  return list ? Text(fmt::format("[{}]", fmt::join(*list, ", "))) : Text();
}

Text write_windows(const ServeWords& words) {
  return write_list(words.overrides.max_attention_window);
}

void read_capture_tokens(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.capture_num_tokens = read_serve_counts(text, flag, "a list of numbers of tokens");
}

Text write_capture_tokens(const ServeWords& words) {
  return write_list(words.overrides.capture_num_tokens);
}

/// vLLM up to 0.11: one size is the largest of its own list.
void read_old_graph_sizes(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text.find(',') != std::string::npos) return read_graph_sizes(words, text, flag);
  words.overrides.cuda_graph_max_bs = read_serve_count(text, flag);
}

Text write_graph_sizes(const ServeWords& words) {
  const auto& sizes = words.overrides.cuda_graph_batch_sizes;
  return sizes ? Text(fmt::format("{}", fmt::join(*sizes, " "))) : Text();
}

Text write_graph_size_list(const ServeWords& words) {
  return write_list(words.overrides.cuda_graph_batch_sizes);
}

/// vLLM's JSON, of which the captured sizes are modelled.
void read_compilation(ServeWords& words, const std::string& text, const std::string& flag) {
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) {
    words.not_modelled.push_back(text.empty() ? flag : flag + " " + text);
    return;
  }
  for (const auto& [key, value] : config.items()) {
    const std::string place = fmt::format("{}.{}", flag, key);
    if (key == "cudagraph_capture_sizes" && value.is_array()) {
      read_graph_sizes(words, value.dump(), place);
    } else if (key == "max_cudagraph_capture_size") {
      words.overrides.cuda_graph_max_bs = read_serve_count(value.dump(), place);
    } else {
      words.not_modelled.push_back(place);
    }
  }
}

/// TensorRT-LLM's cuda_graph_config: null turns graphs off; a mapping is read key by key.
void read_graph_config(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "null" || text == "~" || text == "None") {
    words.overrides.enforce_eager = true;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_graph_config(const ServeWords& words) {
  return words.overrides.enforce_eager.value_or(false) ? Text("null") : Text();
}

void read_capacity_policy(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.capacity_scheduler_policy = parse_capacity_policy(text);
  if (!words.overrides.capacity_scheduler_policy) {
    refuse(flag, text, alternatives(capacity_policy_names()));
  }
}

Text write_capacity_policy(const ServeWords& words) {
  const auto& policy = words.overrides.capacity_scheduler_policy;
  return policy ? Text(name_of(*policy)) : Text();
}

/// Takes the backend if it is `automatic` or among `modelled`.
void take_moe_backend(ServeWords& words, const std::string& text, const std::string& flag,
                      std::initializer_list<MoeBackend> modelled) {
  const std::optional<MoeBackend> named = parse_moe_backend(text);
  if (named == MoeBackend::automatic || (named && std::ranges::count(modelled, *named) > 0)) {
    words.overrides.moe_backend = named;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

/// CUTEDSL, WIDEEP, TRITON and others were not timed.
void read_moe_backend(ServeWords& words, const std::string& text, const std::string& flag) {
  take_moe_backend(words, text, flag,
                   {MoeBackend::cutlass, MoeBackend::trtllm, MoeBackend::deepgemm});
}

void read_vllm_moe_backend(ServeWords& words, const std::string& text, const std::string& flag) {
  take_moe_backend(words, text, flag, {MoeBackend::marlin, MoeBackend::triton});
}

Text write_moe_backend(const ServeWords& words) {
  const auto& backend = words.overrides.moe_backend;
  return backend ? Text(name_of(*backend)) : Text();
}

Text write_vllm_moe_backend(const ServeWords& words) {
  const Text name = write_moe_backend(words);
  return name ? Text(lower(*name)) : Text();
}

/// Triton's, CUTLASS's and others' products were not timed.
void read_fp8_gemm_backend(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.fp8_gemm_backend = parse_fp8_gemm_backend(text);
  if (!words.overrides.fp8_gemm_backend) words.not_modelled.push_back(flag + " " + text);
}

Text write_fp8_gemm_backend(const ServeWords& words) {
  const auto& backend = words.overrides.fp8_gemm_backend;
  return backend ? Text(name_of(*backend)) : Text();
}

/// SGLang's strategies for states of recurrent layers in the radix cache.
void read_tracked_states(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "extra_buffer" || text == "no_buffer") {
    words.tracks_states = text == "extra_buffer";
  } else if (text == "auto") {
    words.tracks_states.reset();
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

void read_chunking_policy(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.context_chunking_policy = parse_chunking_policy(text);
  if (!words.overrides.context_chunking_policy) {
    refuse(flag, text, alternatives(chunking_policy_names()));
  }
}

Text write_chunking_policy(const ServeWords& words) {
  const auto& policy = words.overrides.context_chunking_policy;
  return policy ? Text(name_of(*policy)) : Text();
}

/// SGLang's switches that imply expert parallelism.
void read_shared_experts(ServeWords& words, const std::string& text, const std::string& flag) {
  if (read_serve_switch(text, flag)) words.degrees.expert_parallel = true;
}

void read_all2all(ServeWords& words, const std::string& text, const std::string& flag) {
  words.overrides.all2all_backend = parse_all2all(text);
  if (!words.overrides.all2all_backend) words.not_modelled.push_back(flag + " " + text);
}

Text write_vllm_all2all(const ServeWords& words) {
  const auto& backend = words.overrides.all2all_backend;
  return backend && *backend != All2All::deepep ? Text(name_of(*backend)) : Text();
}

/// Any of SGLang's backends other than "none" implies expert parallelism.
void read_sglang_all2all(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text != "none") words.degrees.expert_parallel = true;
  read_all2all(words, text, flag);
}

Text write_sglang_all2all(const ServeWords& words) {
  const auto& backend = words.overrides.all2all_backend;
  if (backend == All2All::deepep) return "deepep";
  return backend == All2All::allgather_reducescatter ? Text("none") : Text();
}

}  // namespace

namespace serve_knobs {

using O = EngineOverrides;
using P = ParallelismOptions;
using W = ServeWords;

const ServeKnob kModel{"model", read_model, write_model};
const ServeKnob kWeightFormat{"quantization", read_weight_format, write_weight_format};
const ServeKnob kDtype{"dtype", read_dtype, write_dtype};
const ServeKnob kBackend{"engine", read_backend, write_backend};
const ServeKnob kTensor = degree_knob<&P::tensor>("tensor");
const ServeKnob kPipeline = degree_knob<&P::pipeline>("pipeline");
const ServeKnob kData = degree_knob<&P::data>("data");
const ServeKnob kPromptRanks = degree_knob<&P::context>("context");
const ServeKnob kPromptSplit = switch_knob<&W::divides_prompts>("context");
const ServeKnob kPromptStrategy{
    "context",
    [](W& words, const std::string& text, const std::string&) { words.prompt_strategy = text; },
    [](const W& words) { return words.prompt_strategy; }};
const ServeKnob kExpertRanks = degree_knob<&W::expert_ranks>("expert");
const ServeKnob kExpertParallel = switch_knob<&P::expert_parallel>("expert");
const ServeKnob kSharedExperts{"expert", read_shared_experts, [](const W&) { return Text(); }};
const ServeKnob kVllmAll2All{"all2all_backend", read_all2all, write_vllm_all2all};
const ServeKnob kSglangAll2All{"all2all_backend", read_sglang_all2all, write_sglang_all2all};
const ServeKnob kDataParallelAttention =
    switch_knob<&W::data_parallel_attention>("data_parallel_attention");
const ServeKnob kMemoryShare = number_knob<&O::gpu_memory_utilization>("gpu_memory_utilization");
const ServeKnob kModelLen{"max_model_len", read_model_len, write_model_len};
const ServeKnob kSglangModelLen = count_knob<&O::max_model_len>("max_model_len");
const ServeKnob kMaxSeqs = count_knob<&O::max_num_seqs>("max_num_seqs");
const ServeKnob kBatchedTokens = count_knob<&O::max_num_batched_tokens>("max_num_batched_tokens");
const ServeKnob kChunkSize{"max_num_batched_tokens", read_chunk_size, write_chunk_size};
const ServeKnob kBlockSize = count_knob<&O::block_size>("block_size");
const ServeKnob kBlocks = count_knob<&O::num_gpu_blocks_override>("num_gpu_blocks_override");
const ServeKnob kKvTokens = count_knob<&W::kv_tokens>("num_gpu_blocks_override");
const ServeKnob kKvMemory{"kv_cache_memory_bytes", read_kv_memory, write_kv_memory};
const ServeKnob kVllmCacheDtype{"kv_cache_dtype", read_cache_dtype, write_vllm_cache_dtype};
const ServeKnob kSglangCacheDtype{"kv_cache_dtype", read_cache_dtype, write_sglang_cache_dtype};
const ServeKnob kTensorrtCacheDtype{"kv_cache_dtype", read_cache_dtype, write_tensorrt_cache_dtype};
const ServeKnob kChunkedPrefill = switch_knob<&O::enable_chunked_prefill>("enable_chunked_prefill");
const ServeKnob kPrefixCaching = switch_knob<&O::enable_prefix_caching>("enable_prefix_caching");
const ServeKnob kEager = switch_knob<&O::enforce_eager>("enforce_eager");
const ServeKnob kNoGraphs{"enforce_eager", read_graph_config, write_graph_config};
const ServeKnob kGraphSizes{"cuda_graph_batch_sizes", read_graph_sizes, write_graph_sizes};
const ServeKnob kOldGraphSizes{"cuda_graph_batch_sizes", read_old_graph_sizes, write_graph_sizes};
const ServeKnob kGraphSizeList{"cuda_graph_batch_sizes", read_graph_sizes, write_graph_size_list};
const ServeKnob kLargestGraph = count_knob<&O::cuda_graph_max_bs>("cuda_graph_max_bs");
const ServeKnob kGraphPadding = switch_knob<&O::cuda_graph_padding>("cuda_graph_padding");
const ServeKnob kPiecewiseGraph = switch_knob<&O::piecewise_cuda_graph>("piecewise_cuda_graph");
const ServeKnob kCaptureTokens{"capture_num_tokens", read_capture_tokens, write_capture_tokens};
const ServeKnob kCompilation{"cuda_graph_batch_sizes", read_compilation,
                             [](const W&) { return Text(); }};
const ServeKnob kAsync = switch_knob<&O::async_scheduling>("async_scheduling");
const ServeKnob kVllmOrder{"scheduling_policy", read_order,
                           [](const W& words) { return write_order(words, false); }};
const ServeKnob kSglangOrder{"scheduling_policy", read_order,
                             [](const W& words) { return write_order(words, true); }};
const ServeKnob kGenerationConfig{"sampling", read_generation_config, write_generation_config};
const ServeKnob kPrefillTokens = count_knob<&O::max_prefill_tokens>("max_prefill_tokens");
const ServeKnob kConservativeness =
    number_knob<&O::schedule_conservativeness>("schedule_conservativeness");
const ServeKnob kWindowTokens = number_knob<&O::swa_full_tokens_ratio>("swa_full_tokens_ratio");
const ServeKnob kWindows{"max_attention_window", read_windows, write_windows};
const ServeKnob kStateMemory = number_knob<&O::mamba_full_memory_ratio>("mamba_full_memory_ratio");
const ServeKnob kImageLimit{"limit_mm_per_prompt", read_image_limit, write_image_limit};
const ServeKnob kLanguageOnly{"limit_mm_per_prompt", read_language_only,
                              [](const W&) { return Text(); }};
const ServeKnob kHierarchicalCache =
    switch_knob<&O::enable_hierarchical_cache>("enable_hierarchical_cache");
const ServeKnob kHicacheRatio = number_knob<&O::hicache_ratio>("hicache_ratio");
const ServeKnob kHicacheSize{"hicache_size", read_hicache_size, write_hicache_size};
const ServeKnob kMixedChunk = switch_knob<&O::enable_mixed_chunk>("enable_mixed_chunk");
const ServeKnob kDrafts{"num_speculative_tokens", read_drafts, write_drafts};
// SGLang says in four flags what vLLM says in one.
const ServeKnob kDraftAlgorithm{"num_speculative_tokens", read_draft_algorithm,
                                write_draft_algorithm};
const ServeKnob kDraftModel{"draft_weight_bytes", read_draft_model,
                            [](const W&) { return Text(); }};
const ServeKnob kDraftSteps{"num_speculative_tokens",
                            count_knob<&O::num_speculative_tokens>("").read, write_draft_steps};
const ServeKnob kDraftBranches{"num_speculative_tokens",
                               count_knob<&O::speculative_eagle_topk>("").read,
                               write_draft_branches};
const ServeKnob kDraftTree{"num_speculative_tokens",
                           count_knob<&O::speculative_num_draft_tokens>("").read, write_draft_tree};
const ServeKnob kContextRanks =
    count_knob<&O::decode_context_parallel_size>("decode_context_parallel_size");
const ServeKnob kEplb = switch_knob<&O::enable_eplb>("enable_eplb");
const ServeKnob kEplbConfig{"num_redundant_experts", read_eplb_config, write_eplb_config};
const ServeKnob kRedundantExperts = count_knob<&O::num_redundant_experts>("num_redundant_experts");
const ServeKnob kLora{"max_lora_rank", read_lora, write_lora};
const ServeKnob kMaxLoraRank = count_knob<&O::max_lora_rank>("max_lora_rank");
const ServeKnob kMaxLoras = count_knob<&O::max_loras>("max_loras");
const ServeKnob kOffloadingSize{"kv_offloading_size", read_offloading_size, write_offloading_size};
const ServeKnob kOffloadingBackend{"kv_offloading_backend", read_offloading_backend,
                                   write_offloading_backend};
const ServeKnob kTransferConfig{"kv_offloading_size", read_transfer_config,
                                [](const W&) { return Text(); }};
const ServeKnob kPooling = switch_knob<&O::pooling>("pooling");
const ServeKnob kRunner{"pooling", read_runner, write_runner};
const ServeKnob kPromptInterval =
    count_knob<&O::prefill_schedule_interval>("prefill_schedule_interval");
const ServeKnob kTokenIds = switch_knob<&O::skip_tokenizer_init>("skip_tokenizer_init");
const ServeKnob kBatchOverlap = switch_knob<&O::enable_dbo>("enable_dbo");
const ServeKnob kOverlapDecodes =
    count_knob<&O::dbo_decode_token_threshold>("dbo_decode_token_threshold");
const ServeKnob kOverlapPrompts =
    count_knob<&O::dbo_prefill_token_threshold>("dbo_prefill_token_threshold");
const ServeKnob kCapacityPolicy{"capacity_scheduler_policy", read_capacity_policy,
                                write_capacity_policy};
const ServeKnob kChunkingPolicy{"context_chunking_policy", read_chunking_policy,
                                write_chunking_policy};
const ServeKnob kRecvInterval = count_knob<&O::scheduler_recv_interval>("scheduler_recv_interval");
const ServeKnob kStreamInterval = count_knob<&O::stream_interval>("stream_interval");
const ServeKnob kBatchWaitIters =
    count_knob<&O::batch_wait_timeout_iters>("batch_wait_timeout_iters");
const ServeKnob kBatchWaitRatio =
    number_knob<&O::batch_wait_max_tokens_ratio>("batch_wait_max_tokens_ratio");
const ServeKnob kBalance =
    switch_knob<&O::attention_dp_enable_balance>("attention_dp_enable_balance");
const ServeKnob kBalanceTimeout =
    count_knob<&O::attention_dp_timeout_iters>("attention_dp_timeout_iters");
const ServeKnob kBalanceWait =
    count_knob<&O::attention_dp_batching_wait_iters>("attention_dp_batching_wait_iters");
const ServeKnob kMoeBackend{"moe_backend", read_moe_backend, write_moe_backend};
const ServeKnob kFp8GemmBackend{"fp8_gemm_backend", read_fp8_gemm_backend, write_fp8_gemm_backend};
const ServeKnob kTrackedStates{"async_scheduling", read_tracked_states,
                               [](const W&) { return Text(); }};
const ServeKnob kAtomCacheDtype{"kv_cache_dtype", read_cache_dtype, write_atom_cache_dtype};
const ServeKnob kAtomDrafts{"num_speculative_tokens", read_atom_drafts, write_atom_drafts};
const ServeKnob kAtomDraftCount = count_knob<&O::num_speculative_tokens>("num_speculative_tokens");
const ServeKnob kVllmMoeBackend{"moe_backend", read_vllm_moe_backend, write_vllm_moe_backend};

}  // namespace serve_knobs

namespace {

KnobValue read_value(const EngineKnob& knob, const std::string& text, const std::string& flag) {
  if (knob.kind == KnobKind::count) return read_serve_count(text, flag);
  if (knob.kind == KnobKind::on_off) return read_serve_switch(text, flag);
  return read_number(text, flag);
}

std::string text_of(const KnobValue& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "true" : "false";
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  return number_text(std::get<double>(value));
}

ServeKnob serve_knob(const EngineKnob& knob) {
  return {.name = knob.key,
          .read =
              [&knob](ServeWords& words, const std::string& text, const std::string& flag) {
                knob.set(words.overrides, read_value(knob, text, flag));
              },
          .write = [&knob](const ServeWords& words) -> Text {
            const auto value = knob.get(words.overrides);
            return value ? Text(text_of(*value)) : Text();
          }};
}

}  // namespace

const std::vector<VllmKnob>& vllm_scheduler_knobs() {
  static const std::vector<VllmKnob> knobs = [] {
    std::vector<VllmKnob> list;
    for (const EngineKnob& knob : engine_knobs()) {
      const bool plain = knob.kind == KnobKind::count || knob.kind == KnobKind::share ||
                         knob.kind == KnobKind::on_off;
      if (knob.owner != KnobOwner::vllm_scheduler || knob.group != KnobGroup::scheduler || !plain) {
        continue;
      }
      list.push_back({.flag = "--" + std::string(knob.flag),
                      .is_switch = knob.kind == KnobKind::on_off,
                      .knob = serve_knob(knob)});
    }
    return list;
  }();
  return knobs;
}

std::int64_t read_serve_count(const std::string& text, const std::string& flag) {
  const auto count = count_in(text);
  if (!count || *count < 0) refuse(flag, text, "a whole number");
  return *count;
}

bool read_serve_switch(const std::string& text, const std::string& flag) {
  const std::string word = lower(text);
  for (const char* yes : {"true", "1", "on", "yes"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"false", "0", "off", "no"}) {
    if (word == no) return false;
  }
  refuse(flag, text, "true or false");
}

}  // namespace roofcast
