#include "cli/options/deployment_options.hpp"

#include <fmt/format.h>

#include <functional>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "cli/options/feature_options.hpp"
#include "cli/options/flag_values.hpp"

namespace roofcast {
namespace {

int parse_degree(const std::string& text, const std::string& flag) {
  const CountRule rule{.what = "number of GPUs", .examples = "1, 8", .min = 1, .max = 4096};
  return static_cast<int>(parse_count_by(rule, text, flag));
}

/// "auto" leaves the choice to the checkpoint.
std::optional<DType> parse_cache_dtype(const std::string& text, const std::string& flag) {
  if (text == "auto") return std::nullopt;
  const auto dtype = parse_dtype(text);
  if (!dtype) throw UsageError(flag + ": '" + text + "' is not a dtype (auto, bf16, fp16, fp8)");
  return dtype;
}

QueueOrder parse_order(const std::string& text, const std::string& flag) {
  const auto order = parse_queue_order(text);
  if (order) return *order;
  throw UsageError(flag + ": '" + text + "' is not a policy (" + kQueueOrders + ")");
}

CapacityPolicy parse_capacity(const std::string& text, const std::string& flag) {
  const auto policy = parse_capacity_policy(text);
  if (policy) return *policy;
  throw UsageError(flag + ": '" + text + "' is not a policy (" + kCapacityPolicies + ")");
}

ChunkingPolicy parse_chunking(const std::string& text, const std::string& flag) {
  const auto policy = parse_chunking_policy(text);
  if (policy) return *policy;
  throw UsageError(flag + ": '" + text + "' is not a policy (" + kChunkingPolicies + ")");
}

po::typed_value<std::string>* switch_value(std::optional<bool>& target, const std::string& flag) {
  return converted(target, flag, parse_switch)->implicit_value("true", "")->value_name("[=off]");
}

/// A number of tokens, or what vLLM calls -1 or auto: the longest that fits.
void take_model_len(EngineOverrides& knobs, const std::string& text) {
  knobs.fit_model_len = text == "auto" || text == "-1";
  knobs.max_model_len.reset();
  if (!knobs.fit_model_len) knobs.max_model_len = parse_count(text, "--max-model-len");
}

/// "auto" leaves the weights as the checkpoint has them.
std::optional<std::string> parse_weight_dtype(const std::string& text, const std::string&) {
  if (text == "auto") return std::nullopt;
  return text;
}

/// SGLang's chunked_prefill_size, of which -1 turns chunked prefill off.
void take_chunk_size(EngineOverrides& knobs, const std::string& text) {
  knobs.enable_chunked_prefill = text != "-1";
  if (text != "-1") knobs.max_num_batched_tokens = parse_count(text, "--chunked-prefill-size");
}

/// A flag that turns `knob` off, as SGLang spells it: --disable-x.
po::typed_value<bool>* disables(std::optional<bool>& knob) {
  return po::bool_switch()->notifier([&knob](bool off) {
    if (off) knob = false;
  });
}

}  // namespace

po::options_description machine_options(DeploymentOptions& target) {
  po::options_description options = option_group("Model and GPUs");
  ParallelismOptions& parallel = target.parallel;
  options.add_options()("model", po::value(&target.model)->value_name("NAME|PATH"),
                        "catalogue name, model folder, config.json or .gguf")(
      "gpu", po::value(&target.gpu)->value_name("NAME|FILE"), "GPU in any usual spelling")(
      "quantization",
      converted(target.weight_format, "--quantization", parse_text)->value_name("FORMAT"),
      "weights as fp8, int8, awq, ... (default: as the checkpoint)")(
      "dtype", converted(target.weight_format, "--dtype", parse_weight_dtype)->value_name("DTYPE"),
      "weights as bf16, fp16, fp32, auto (default: the checkpoint's)")(
      "tensor-parallel-size",
      converted(parallel.tensor, "--tensor-parallel-size", parse_degree)->value_name("N"),
      "TP, also --tp (default 1)")(
      "pipeline-parallel-size",
      converted(parallel.pipeline, "--pipeline-parallel-size", parse_degree)->value_name("N"),
      "PP, also --pp (default 1)")(
      "data-parallel-size",
      converted(parallel.data, "--data-parallel-size", parse_degree)->value_name("N"),
      "DP, also --dp (default 1)")(
      "enable-expert-parallel", switch_value(parallel.expert_parallel, "--enable-expert-parallel"),
      "experts sharded over TP x DP ranks, also --ep");
  return options;
}

po::options_description engine_options(DeploymentOptions& target) {
  po::options_description options = option_group("Engine (unset: as the engine would choose)");
  EngineOverrides& knobs = target.overrides;
  auto count = [](auto& knob, const char* flag) {
    return converted(knob, flag, parse_count)->value_name("N");
  };
  options.add_options()("engine", po::value(&target.engine)->value_name("ERA"),
                        "vllm-0.11, -0.15, -0.19 (default), -0.29, sglang, trtllm, -0.18, "
                        "roofcast, textbook, static, naive, or a FILE.json")(
      "gpu-memory-utilization",
      converted(knobs.gpu_memory_utilization, "--gpu-memory-utilization", parse_share)
          ->value_name("SHARE"),
      "share of GPU memory; SGLang: mem-fraction-static")(
      "max-model-len",
      po::value<std::string>()->value_name("N")->notifier(
          [&knobs](const std::string& text) { take_model_len(knobs, text); }),
      "longest sequence, tokens (default the model's); auto: that fits")(
      "max-num-seqs", count(knobs.max_num_seqs, "--max-num-seqs"), "sequences running at once")(
      "max-num-batched-tokens", count(knobs.max_num_batched_tokens, "--max-num-batched-tokens"),
      "token budget of a step")("block-size", count(knobs.block_size, "--block-size"),
                                "tokens per KV block")(
      "kv-cache-dtype",
      converted(knobs.kv_cache_dtype, "--kv-cache-dtype", parse_cache_dtype)->value_name("DTYPE"),
      "auto, bf16, fp16 or fp8")(
      "kv-cache-memory-bytes",
      converted(knobs.kv_cache_memory, "--kv-cache-memory-bytes", parse_bytes)->value_name("BYTES"),
      "KV budget per GPU, as 40GB or 40GiB; ignores utilisation")(
      "num-gpu-blocks-override", count(knobs.num_gpu_blocks_override, "--num-gpu-blocks-override"),
      "KV blocks as given")(
      "overhead", converted(knobs.overhead, "--overhead", parse_bytes)->value_name("BYTES"),
      "textbook rule: fixed overhead per GPU")(
      "weight-bytes",
      converted(knobs.weight_bytes, "--weight-bytes", parse_bytes)->value_name("BYTES"),
      "memory plan only: checkpoint size, instead of the formula")(
      "enforce-eager", switch_value(knobs.enforce_eager, "--enforce-eager"), "no CUDA graphs")(
      "async-scheduling", switch_value(knobs.async_scheduling, "--async-scheduling"),
      "host work hidden behind the GPU");
  return options;
}

namespace {

void add_sglang_options(po::options_description& options, EngineOverrides& knobs) {
  options.add_options()("chunked-prefill-size",
                        po::value<std::string>()->value_name("N")->notifier(
                            [&knobs](const std::string& text) { take_chunk_size(knobs, text); }),
                        "SGLang: tokens of a chunk; -1: prompts are not cut")(
      "max-prefill-tokens",
      converted(knobs.max_prefill_tokens, "--max-prefill-tokens", parse_count)->value_name("N"),
      "SGLang: input tokens of a prefill batch (default 16384)")(
      "schedule-conservativeness",
      converted(knobs.schedule_conservativeness, "--schedule-conservativeness",
                parse_positive_number)
          ->value_name("X"),
      "SGLang: more reserves more for output (default 1)")(
      "enable-mixed-chunk", switch_value(knobs.enable_mixed_chunk, "--enable-mixed-chunk"),
      "SGLang: decodes go along with prefills")(
      "disable-radix-cache", disables(knobs.enable_prefix_caching), "SGLang: no prefix caching")(
      "disable-overlap-schedule", disables(knobs.async_scheduling),
      "SGLang: host work after the GPU's");
}

}  // namespace

po::options_description scheduler_options(DeploymentOptions& target) {
  po::options_description options = option_group("Scheduler (unset: as the engine would choose)");
  EngineOverrides& knobs = target.overrides;
  options.add_options()("enable-chunked-prefill",
                        switch_value(knobs.enable_chunked_prefill, "--enable-chunked-prefill"),
                        "prompts in chunks (default on)")(
      "enable-prefix-caching", switch_value(knobs.enable_prefix_caching, "--enable-prefix-caching"),
      "equal beginnings computed once (default on)")(
      "scheduler-reserve-full-isl",
      switch_value(knobs.reserve_full_sequence, "--scheduler-reserve-full-isl"),
      "admit only when the whole prompt's blocks are free")(
      "long-prefill-token-threshold",
      converted(knobs.long_prefill_token_threshold, "--long-prefill-token-threshold", parse_count)
          ->value_name("N"),
      "most prompt tokens of one request a step; 0 off")(
      "watermark", converted(knobs.watermark, "--watermark", parse_share)->value_name("SHARE"),
      "KV blocks kept free at admission")(
      "scheduling-policy",
      converted(knobs.scheduling_policy, "--scheduling-policy", parse_order)->value_name("POLICY"),
      "fcfs (default), priority; SGLang: fcfs, lpm, lof")(
      "capacity-scheduler-policy",
      converted(knobs.capacity_scheduler_policy, "--capacity-scheduler-policy", parse_capacity)
          ->value_name("POLICY"),
      "TensorRT-LLM: GUARANTEED_NO_EVICT (default), MAX_UTILIZATION, STATIC_BATCH")(
      "context-chunking-policy",
      converted(knobs.context_chunking_policy, "--context-chunking-policy", parse_chunking)
          ->value_name("POLICY"),
      "TensorRT-LLM: FIRST_COME_FIRST_SERVED (default) or EQUAL_PROGRESS");
  add_sglang_options(options, knobs);
  return options;
}

void take_overrides(EngineOverrides& knobs, const EngineOverrides& given) {
  take(knobs.gpu_memory_utilization, given.gpu_memory_utilization);
  if (given.max_model_len || given.fit_model_len) {
    knobs.max_model_len = given.max_model_len;
    knobs.fit_model_len = given.fit_model_len;
  }
  take(knobs.max_num_seqs, given.max_num_seqs);
  take(knobs.max_num_batched_tokens, given.max_num_batched_tokens);
  take(knobs.block_size, given.block_size);
  take(knobs.num_gpu_blocks_override, given.num_gpu_blocks_override);
  take(knobs.kv_cache_memory, given.kv_cache_memory);
  take(knobs.kv_cache_dtype, given.kv_cache_dtype);
  take(knobs.enable_chunked_prefill, given.enable_chunked_prefill);
  take(knobs.enable_prefix_caching, given.enable_prefix_caching);
  take(knobs.enforce_eager, given.enforce_eager);
  take(knobs.async_scheduling, given.async_scheduling);
  take(knobs.reserve_full_sequence, given.reserve_full_sequence);
  take(knobs.long_prefill_token_threshold, given.long_prefill_token_threshold);
  take(knobs.watermark, given.watermark);
  take(knobs.scheduling_policy, given.scheduling_policy);
  take(knobs.max_prefill_tokens, given.max_prefill_tokens);
  take(knobs.schedule_conservativeness, given.schedule_conservativeness);
  take(knobs.enable_mixed_chunk, given.enable_mixed_chunk);
  take(knobs.capacity_scheduler_policy, given.capacity_scheduler_policy);
  take(knobs.context_chunking_policy, given.context_chunking_policy);
  take(knobs.overhead, given.overhead);
  take(knobs.weight_bytes, given.weight_bytes);
  take_features(knobs, given);
}

}  // namespace roofcast
