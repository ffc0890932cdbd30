#include "model/engines/engine_checks.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.hpp"

namespace roofcast {
namespace {

void require_count(const std::optional<std::int64_t>& value, const char* knob, std::int64_t min = 1,
                   std::int64_t max = kMaxEngineCount) {
  if (value && (*value < min || *value > max)) {
    throw UsageError(fmt::format("{}: {} given, expected {} to {}", knob, *value, min, max));
  }
}

void check_ranges(const EngineOverrides& overrides) {
  const std::optional<double>& utilization = overrides.gpu_memory_utilization;
  if (utilization && !(*utilization > 0.0 && *utilization <= 1.0)) {
    throw UsageError(fmt::format(
        "gpu_memory_utilization: {} given, expected more than 0 and at most 1", *utilization));
  }
  const std::optional<double>& watermark = overrides.watermark;
  if (watermark && !(*watermark >= 0.0 && *watermark < 1.0)) {
    throw UsageError(
        fmt::format("watermark: {} given, expected at least 0 and less than 1", *watermark));
  }
  require_count(overrides.max_model_len, "max_model_len");
  require_count(overrides.max_num_seqs, "max_num_seqs");
  require_count(overrides.max_num_batched_tokens, "max_num_batched_tokens");
  require_count(overrides.block_size, "block_size", 1, kLargestBlock);
  require_count(overrides.max_prefill_tokens, "max_prefill_tokens");
  if (overrides.schedule_conservativeness && !(*overrides.schedule_conservativeness > 0.0)) {
    throw UsageError(fmt::format("schedule_conservativeness: {} given, expected more than 0",
                                 *overrides.schedule_conservativeness));
  }
  require_count(overrides.num_gpu_blocks_override, "num_gpu_blocks_override");
  require_count(overrides.num_speculative_tokens, "num_speculative_tokens", 1, kMaxDrafts);
  require_count(overrides.max_loras, "max_loras");
  require_count(overrides.long_prefill_token_threshold, "long_prefill_token_threshold", 0);
  const auto require_bytes = [](const std::optional<Bytes>& bytes, const char* knob, double min) {
    if (bytes && !(bytes->value >= min && std::isfinite(bytes->value))) {
      throw UsageError(
          fmt::format("{}: {} bytes given, expected at least {}", knob, bytes->value, min));
    }
  };
  require_bytes(overrides.kv_cache_memory, "kv_cache_memory", 1.0);
  require_bytes(overrides.weight_bytes, "weight_bytes", 1.0);
  require_bytes(overrides.kv_offloading_size, "kv_offloading_size", 1.0);
  require_bytes(overrides.overhead, "overhead", 0.0);
}

/// SGLang's orders of the queue are its own, and it has no other's.
void check_order(const EngineOverrides& overrides, const PresetDefaults& preset) {
  const bool sglang = preset.scheduler == SchedulerKind::sglang;
  const QueueOrder order = overrides.scheduling_policy.value_or(QueueOrder::fcfs);
  const bool only_sglang =
      order == QueueOrder::longest_prefix || order == QueueOrder::longest_output;
  const bool only_others = order == QueueOrder::priority;
  if (sglang ? only_others : only_sglang) {
    throw UsageError(fmt::format("scheduling_policy: {} given for {}, expected {}", name_of(order),
                                 preset.preset.name,
                                 sglang ? "fcfs, lpm or lof" : "fcfs or priority"));
  }
}

/// Knobs that one family of engines alone has: given for another they would change nothing.
void check_owners(const EngineOverrides& overrides, const PresetDefaults& preset) {
  struct Knob {
    bool given;
    const char* name;
    bool owned;
    const char* owner;
  };
  const bool sglang = preset.scheduler == SchedulerKind::sglang;
  const bool tensorrt = preset.scheduler == SchedulerKind::tensorrt_llm;
  const bool vllm = preset.scheduler == SchedulerKind::vllm_v1;
  constexpr const char* kVllm = "one of the vLLM engines";
  const EngineOverrides& o = overrides;
  const std::array knobs{
      Knob{o.kv_cache_memory.has_value(), "kv_cache_memory", preset.memory_rule == MemoryRule::vllm,
           kVllm},
      Knob{o.overhead.has_value(), "overhead", preset.memory_rule == MemoryRule::textbook,
           "engine roofcast, textbook, static or naive"},
      Knob{o.reserve_full_sequence.has_value(), "scheduler_reserve_full_isl", vllm, kVllm},
      Knob{o.long_prefill_token_threshold.has_value(), "long_prefill_token_threshold", vllm, kVllm},
      Knob{o.watermark.has_value(), "watermark", vllm, kVllm},
      Knob{o.max_prefill_tokens.has_value(), "max_prefill_tokens", sglang, "engine sglang"},
      Knob{o.schedule_conservativeness.has_value(), "schedule_conservativeness", sglang,
           "engine sglang"},
      Knob{o.enable_mixed_chunk.has_value(), "enable_mixed_chunk", sglang, "engine sglang"},
      Knob{o.capacity_scheduler_policy.has_value(), "capacity_scheduler_policy", tensorrt,
           "engine trtllm"},
      Knob{o.context_chunking_policy.has_value(), "context_chunking_policy", tensorrt,
           "engine trtllm"}};
  for (const Knob& knob : knobs) {
    if (!knob.given || knob.owned) continue;
    throw UsageError(
        fmt::format("{}: given for {}, expected {}", knob.name, preset.preset.name, knob.owner));
  }
  check_order(overrides, preset);
}

}  // namespace

void check_overrides(const EngineOverrides& overrides, const PresetDefaults& preset) {
  check_ranges(overrides);
  check_owners(overrides, preset);
}

}  // namespace roofcast
