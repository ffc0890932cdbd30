#include "model/engines/idle_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/architecture/expert_load.hpp"
#include "model/architecture/experts.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/engines/engine_description.hpp"
#include "model/engines/engine_features.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

using S = KnobSetting;

// ---- of what is asked

bool only_fits(const S& s) { return s.use == KnobUse::memory; }

bool no_load(const S& s) { return s.use == KnobUse::memory || s.use == KnobUse::steps; }

bool even_load(const S& s) { return s.use == KnobUse::even_load; }

// ---- of the GPU

/// Whether built-in kernel tables answer for the engine.
bool has_tables(const S& s) { return s.gpu.has_tables_for(s.engine.version); }

// ---- of the model

bool has_states(const S& s) { return state_bytes_per_sequence(s.model).value > 0; }

bool has_windows(const S& s) {
  return std::ranges::any_of(s.model.layers, [&](const Layer& layer) {
    return keeps_window(cache_need(layer, s.model, s.engine.kv_cache_dtype, 1).span);
  });
}

bool no_experts(const S& s) { return !has_experts(s.model); }

// ---- of engine and ranks

bool fits_by(const S& s, MemoryRule rule) { return only_fits(s) && s.engine.memory_rule == rule; }

bool fits_by_other_than_vllm(const S& s) { return only_fits(s) && !fits_by(s, MemoryRule::vllm); }

bool fits_by_other_than_sglang(const S& s) {
  return only_fits(s) && !fits_by(s, MemoryRule::sglang);
}

/// ATOM's estimate of graphs is a share of the peak, and 0 without them.
bool fits_without_graphs(const S& s) {
  return fits_by_other_than_vllm(s) && !fits_by(s, MemoryRule::atom);
}

bool fits_by_textbook(const S& s) { return fits_by(s, MemoryRule::textbook); }

bool step_counts_tokens(const S& s) {
  return s.use == KnobUse::steps && s.engine.memory_rule == MemoryRule::textbook;
}

/// SGLang's slots for recurrent states depend on whether steps overlap.
bool fits_however_it_schedules(const S& s) {
  return only_fits(s) && !(fits_by(s, MemoryRule::sglang) && has_states(s));
}

/// If the engine ignored a ratio below 1, the model has no pool for windows.
bool no_window_pool(const S& s) {
  return !has_windows(s) ||
         (s.engine.window_share.value_or(1.0) >= 1.0 && s.engine.swa_full_tokens_ratio < 1.0);
}

bool no_listable_windows(const S& s) { return !has_listable_windows(s.model); }

bool no_state_pool(const S& s) { return s.engine.state_slots == 0; }

/// Then a stage prepares its steps ahead, or waits for its GPU, as the version does.
bool stages_have_hosts(const S& s) { return s.engine.stage_hosts != StageHosts::one; }

bool no_exchange(const S& s) { return s.parallel && s.parallel->data == 1; }

bool one_expert_rank(const S& s) {
  return s.parallel && (!s.parallel->expert_parallel || s.parallel->expert_ranks() == 1);
}

/// Only built-in tables hold several of TensorRT-LLM's kernels.
bool one_kernel_of_experts(const S& s) {
  if (s.engine.memory_rule == MemoryRule::vllm) return !has_two_expert_kernels(s.model, s.gpu);
  return !has_tables(s);
}

bool no_block_scaled_products(const S& s) {
  const auto in_blocks = [](const WeightFormat& format) { return format.name == "fp8_block"; };
  return std::ranges::none_of(s.model.layers, [&](const Layer& layer) {
    return in_blocks(layer.mixer_format) || in_blocks(layer.ffn_format) ||
           in_blocks(layer.shared_format);
  });
}

bool shares_no_experts(const S& s) { return no_experts(s) || no_exchange(s); }

bool even_experts(const S& s) {
  if (s.engine.expert_power_law) return *s.engine.expert_power_law == 0;
  return std::ranges::all_of(s.model.layers, [&](const Layer& layer) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    return moe == nullptr || published_popularity(s.model, *moe).is_even();
  });
}

bool no_host_cache(const S& s) {
  return !s.engine.kv_offloading.on() && !s.engine.hierarchical_cache.on();
}

bool only_steps(const S& s) { return s.use == KnobUse::steps; }

/// Exchanges of whole experts' tokens are what halves of a batch hide.
bool no_whole_exchange(const S& s) { return no_experts(s) || no_exchange(s) || one_expert_rank(s); }

bool no_adapters_in_memory(const S& s) { return only_fits(s) && s.engine.lora.max_rank == 0; }

bool no_draft_model(const S& s) {
  return only_fits(s) && s.engine.speculation.method != DraftMethod::draft_model;
}

/// vLLM keeps a state for each draft; else only heads and draft models take memory.
bool drafts_fit_anyhow(const S& s) {
  const Speculation& drafts = s.engine.speculation;
  const bool takes = drafts.reads_hidden_states() || drafts.draft_weights.value > 0 ||
                     drafts.draft_kv.value > 0 || (fits_by(s, MemoryRule::vllm) && has_states(s));
  return only_fits(s) && !takes;
}

bool whole_prompts(const S& s) { return !traits_of(s.engine.scheduler).prefix_cache; }

/// The small engine of `measure`: it captures every batch.
bool is_own(const S& s) {
  return s.engine.memory_rule == MemoryRule::textbook &&
         s.engine.scheduler == SchedulerKind::vllm_v1 && s.engine.graph_batch_sizes.empty();
}

bool own_without_measured_host(const S& s) { return is_own(s) && !s.gpu.measured; }

/// Knobs that change nothing where `idle` holds, and why.
struct IdleRule {
  std::vector<std::string_view> keys{};
  bool (*idle)(const S&) = nullptr;
  const char* reason = "";
};

constexpr const char* kOtherRule = "the engine's memory rule does not depend on it";
constexpr const char* kOnlyTime = "it changes how long steps take, not what fits";

// NOLINTNEXTLINE(readability-function-size): rows of a table
const std::vector<IdleRule>& idle_rules() {
  static const std::vector<IdleRule> rules = {
      {.keys = {"all2all_backend", "expert_power_law", "enable_eplb", "num_redundant_experts",
                "moe_backend"},
       .idle = no_experts,
       .reason = "the model has no experts"},
      {.keys = {"attention_dp_enable_balance", "attention_dp_timeout_iters",
                "attention_dp_batching_wait_iters"},
       .idle = shares_no_experts,
       .reason = "it acts between data-parallel ranks that share experts"},
      {.keys = {"prefill_schedule_interval"},
       .idle = shares_no_experts,
       .reason = "it acts between data-parallel ranks that share experts"},
      {.keys = {"enable_dbo", "dbo_decode_token_threshold", "dbo_prefill_token_threshold"},
       .idle = no_whole_exchange,
       .reason = "it acts between data-parallel ranks that hold whole experts"},
      {.keys = {"enable_dbo", "dbo_decode_token_threshold", "dbo_prefill_token_threshold"},
       .idle = only_fits,
       .reason = kOnlyTime},
      {.keys = {"host_memory_bytes"},
       .idle = no_host_cache,
       .reason = "no K and V are kept in host memory"},
      {.keys = {"host_memory_bytes", "enable_hierarchical_cache", "hicache_ratio",
                "hicache_size_bytes", "kv_offloading_size_bytes"},
       .idle = only_steps,
       .reason = "no step depends on it"},
      {.keys = {"kv_offloading_bandwidth_bytes_per_s", "kv_offloading_latency_s"},
       .idle = only_fits,
       .reason = kOnlyTime},
      {.keys = {"moe_backend"}, .idle = fits_by_other_than_vllm, .reason = kOnlyTime},
      {.keys = {"moe_backend"},
       .idle = one_kernel_of_experts,
       .reason = "one kind of kernels is modelled for these experts on this GPU"},
      {.keys = {"fp8_gemm_backend"}, .idle = only_fits, .reason = kOnlyTime},
      {.keys = {"fp8_gemm_backend"},
       .idle = [](const S& s) { return !has_low_latency_products(s.gpu); },
       .reason = "one kind of kernels is modelled for products on this GPU"},
      {.keys = {"fp8_gemm_backend"},
       .idle = no_block_scaled_products,
       .reason = "no product has weights in fp8 with scales of blocks"},
      {.keys = {"all2all_backend"},
       .idle = no_exchange,
       .reason = "it acts between data-parallel ranks"},
      {.keys = {"all2all_backend"}, .idle = fits_by_other_than_vllm, .reason = kOtherRule},
      {.keys = {"expert_power_law", "enable_eplb"}, .idle = only_fits, .reason = kOnlyTime},
      {.keys = {"enable_eplb"},
       .idle = one_expert_rank,
       .reason = "it acts between expert-parallel ranks"},
      {.keys = {"enable_eplb"}, .idle = even_experts, .reason = "experts are picked evenly"},
      {.keys = {"limit_mm_per_prompt"},
       .idle = [](const S& s) { return !s.model.has_vision; },
       .reason = "the model has no vision encoder"},
      {.keys = {"swa_full_tokens_ratio"},
       .idle = no_window_pool,
       .reason = "the engine has no pool for windows of this model"},
      {.keys = {"max_attention_window"},
       .idle = no_listable_windows,
       .reason = "no layer of the model keeps a window in a layout of its own"},
      {.keys = {"mamba_full_memory_ratio"},
       .idle = no_state_pool,
       .reason = "the model has no recurrent states"},
      {.keys = {"max_loras"},
       .idle = no_adapters_in_memory,
       .reason = "adapters take memory by max_lora_rank"},
      {.keys = {"draft_weight_bytes", "draft_kv_bytes"},
       .idle = no_draft_model,
       .reason = "only a draft model has memory of its own"},
      {.keys = {"num_speculative_tokens", "speculative_method"},
       .idle = drafts_fit_anyhow,
       .reason = "such drafts take no memory"},
      {.keys = {"max_num_batched_tokens"}, .idle = fits_by_textbook, .reason = kOtherRule},
      {.keys = {"enable_chunked_prefill"},
       .idle = whole_prompts,
       .reason = "the engine computes prompts whole"},
      {.keys = {"enable_chunked_prefill"}, .idle = fits_by_other_than_vllm, .reason = kOtherRule},
      {.keys = {"kv_reservation"}, .idle = no_load, .reason = "it acts where requests come and go"},
      {.keys = {"block_size"},
       .idle = step_counts_tokens,
       .reason = "no step depends on it, and the memory rule counts tokens"},
      {.keys = {"async_scheduling"}, .idle = fits_however_it_schedules, .reason = kOnlyTime},
      {.keys = {"async_scheduling"},
       .idle = stages_have_hosts,
       .reason = "each pipeline stage has a host of its own, which prepares as its version does"},
      {.keys = {"cuda_graph_padding", "piecewise_cuda_graph", "capture_num_tokens"},
       .idle = only_fits,
       .reason = kOnlyTime},
      {.keys = {"cuda_graph_batch_sizes", "cuda_graph_max_bs"},
       .idle = fits_by_other_than_sglang,
       .reason = kOtherRule},
      {.keys = {"cuda_graph_batch_sizes", "cuda_graph_max_bs"},
       .idle = is_own,
       .reason = "the engine captures every batch"},
      {.keys = {"enforce_eager"}, .idle = fits_without_graphs, .reason = kOtherRule},
      {.keys = {"enforce_eager", "async_scheduling"},
       .idle = own_without_measured_host,
       .reason = "the engine's host work was not measured on this GPU"},
      {.keys = {"stream_interval"},
       .idle = even_load,
       .reason = "it changes the gaps between chunks, which are not shown"},
      {.keys = {"skip_tokenizer_init"}, .idle = is_own, .reason = "the engine takes token ids"},
      {.keys = {"scheduling_policy"}, .idle = even_load, .reason = "all requests are alike"},
  };
  return rules;
}

/// Those that only schedule are marked so in the table of knobs. With prefix caching a sequence
/// takes more rows of recurrent states.
const char* idle_as_schedule(const EngineKnob& knob, const S& setting) {
  if (!knob.only_schedules || !no_load(setting)) return nullptr;
  const bool rows = std::string_view(knob.key) == "enable_prefix_caching" && has_states(setting) &&
                    only_fits(setting);
  if (rows && (fits_by(setting, MemoryRule::vllm) || fits_by(setting, MemoryRule::sglang))) {
    return nullptr;
  }
  return "it only affects which requests run when";
}

const char* reason_of(const EngineKnob& knob, const S& setting) {
  if (const char* reason = idle_as_schedule(knob, setting)) return reason;
  for (const IdleRule& rule : idle_rules()) {
    if (std::ranges::find(rule.keys, knob.key) != rule.keys.end() && rule.idle(setting)) {
      return rule.reason;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> idle_knob(const EngineOverrides& given, const KnobSetting& setting) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (!knob.get(given)) continue;
    if (const char* reason = reason_of(knob, setting)) {
      return fmt::format("{}: would change nothing here, {}", knob_name(knob), reason);
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> keys_with_idle_rules() {
  std::vector<std::string_view> keys;
  for (const IdleRule& rule : idle_rules()) {
    keys.insert(keys.end(), rule.keys.begin(), rule.keys.end());
  }
  return keys;
}

}  // namespace roofcast
