#include "model/memory/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/architecture/weights.hpp"
#include "model/memory/memory_terms.hpp"

namespace roofcast {
namespace {

/// Longer than any sequence; bounds the search for a context that always fits.
constexpr std::int64_t kLongestSequence = 1'000'000'000;

/// A start from a warm compile cache had 0.47 GiB more for KV cache than a cold one
/// (vllm-project/vllm issue 54383, two RTX 4090); plus or minus half of that.
constexpr Bytes kCompileCacheSpread{0.25 * kGiB};

/// Whether the cache is sized in blocks rather than bytes.
bool counts_blocks(const Engine& engine) {
  return engine.memory.whole_blocks || engine.num_gpu_blocks_override.has_value();
}

/// Tokens that windows keep beside themselves for steps not yet done: those of one step, or of as
/// many as are scheduled (vLLM 0.26, config/vllm.py, max_in_flight_tokens).
std::int64_t reserved_in_flight(const Engine& engine) {
  const bool ahead = engine.memory.counts_steps_ahead && engine.async_scheduling;
  return engine.max_num_batched_tokens * (ahead ? 2 : 1);
}

/// Whole rows: those reserved for the longest sequence, those held by a shorter one.
Bytes row_bytes_of_sequence(const Engine& engine, const CacheLayout& layout, std::int64_t tokens) {
  const std::int64_t in_flight = reserved_in_flight(engine);
  const std::int64_t rows = tokens >= engine.max_model_len
                                ? reserved_rows_per_sequence(layout, tokens, in_flight)
                                : rows_per_sequence(layout, tokens, in_flight);
  return layout.row_bytes() * static_cast<double>(rows);
}

CacheLayout cache_layout_of(const Deployment& deployment, const Transformer& model,
                            const Parallelism& parallel) {
  const Engine& engine = deployment.engine;
  CacheLayout layout =
      cache_layout(model, engine.kv_cache_dtype, parallel, engine.block_size, cache_rules(engine));
  // A draft model's layers are among the blocks of the target's (vLLM, SGLang); of its tokens each
  // rank holds the heads that it computes.
  const Speculation& drafts = engine.speculation;
  if (drafts.method == DraftMethod::draft_model && layout.groups.size() == 1) {
    const double tokens = static_cast<double>(engine.block_size) / parallel.tensor;
    layout.page += drafts.draft_kv * (tokens / static_cast<double>(layout.layers_per_row));
  }
  return layout;
}

/// Bytes of one sequence on a GPU of each pipeline stage. Engines with blocks count whole rows;
/// SGLang (token pages) and the textbook rule count tokens.
std::vector<Bytes> bytes_by_stage(const Deployment& deployment, std::int64_t tokens) {
  const Engine& engine = deployment.engine;
  const Parallelism& parallel = deployment.parallel;
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  Parallelism one_stage = parallel;
  one_stage.pipeline = 1;
  std::vector<Bytes> bytes;
  for (int stage = 0; stage < parallel.pipeline; ++stage) {
    const LayerRange range = pipeline_stage(layers, parallel.pipeline, stage);
    Transformer part = deployment.model;
    part.layers.assign(deployment.model.layers.begin() + range.first,
                       deployment.model.layers.begin() + range.last);
    bytes.push_back(
        engine.memory.whole_blocks
            ? row_bytes_of_sequence(engine, cache_layout_of(deployment, part, one_stage), tokens)
            : cache_bytes_per_sequence(part, engine.kv_cache_dtype, tokens, parallel.tensor));
  }
  return bytes;
}

std::int64_t count_blocks(const Engine& engine, const CacheLayout& layout, Bytes budget) {
  if (engine.num_gpu_blocks_override) return *engine.num_gpu_blocks_override;
  if (layout.row_bytes().value <= 0 || budget.value <= 0) return 0;
  return static_cast<std::int64_t>(std::floor(budget / layout.row_bytes()));
}

MemoryTerm cache_term(const MemoryPlan& plan) {
  const CacheLayout& layout = plan.layout;
  const Bytes row = layout.row_bytes();
  std::string detail;
  if (layout.block_tokens == 1) {
    detail = fmt::format("{} tokens x {:.0f} bytes ({} layers)", plan.kv_blocks, row.value,
                         layout.layers_per_row);
  } else {
    detail = fmt::format("{} blocks x {:.0f} bytes ({} tokens x {} layers)", plan.kv_blocks,
                         row.value, layout.block_tokens, layout.layers_per_row);
  }
  if (layout.groups.size() > 1) {
    detail += fmt::format(", shared by {} groups of layers", layout.groups.size());
  }
  return {.name = "kv_cache",
          .detail = std::move(detail),
          .bytes = row * static_cast<double>(plan.kv_blocks)};
}

/// The part of the budget that is not in blocks; negative if memory is short.
MemoryTerm remainder_term(Bytes left, const CacheLayout& layout) {
  if (left.value < 0) {
    return {.name = "shortfall", .detail = "missing: the terms above need more", .bytes = left};
  }
  const bool caches = layout.row_bytes().value > 0;
  return {.name = "unused",
          .detail = caches ? "less than one block" : "the model keeps no K and V",
          .bytes = left};
}

/// Tokens that vLLM up to 0.20 prints as "GPU KV cache size": the blocks divided among the groups.
std::int64_t tokens_in(const CacheLayout& layout, std::int64_t blocks) {
  if (layout.groups.empty()) return 0;
  return blocks / static_cast<std::int64_t>(layout.groups.size()) * layout.block_tokens;
}

/// Bytes by which the named terms exceed the GPU's memory; only a user-stated KV cache can cause
/// this.
Bytes beyond_memory(const MemoryPlan& plan) {
  Bytes taken;
  for (const MemoryTerm& term : plan.terms) {
    if (term.bytes.value > 0 && term.name != "reserve" && term.name != "cuda_graphs") {
      taken += term.bytes;
    }
  }
  return std::max(Bytes{}, taken - plan.total);
}

bool has_recurrent_group(const MemoryPlan& plan) {
  return std::ranges::any_of(plan.layout.groups, &CacheGroup::recurrent);
}

/// vLLM's check before it captures decode graphs: each decoding sequence needs a block for its
/// recurrent state ("exceeds available Mamba cache blocks", config/compilation.py,
/// resolve_cudagraph_mode_and_sizes; vllm-project/vllm pull 38270).
bool lacks_state_blocks(const Engine& engine, const MemoryPlan& plan) {
  return engine.needs_state_blocks && engine.cuda_graphs && has_recurrent_group(plan) &&
         engine.max_num_seqs > plan.kv_blocks;
}

/// Host memory of one rank for K and V. SGLang's pool holds a multiple of the GPU's tokens, or as
/// many bytes as it was given (0.5.15, mem_cache/pool_host/base.py, HostKVCache).
Bytes rank_host_cache(const Engine& engine, const MemoryPlan& plan) {
  if (engine.kv_offloading.on()) return engine.kv_offloading.size;
  const HierarchicalCache& cache = engine.hierarchical_cache;
  if (!cache.on() || cache.size.value > 0) return cache.size;
  return plan.layout.row_bytes() * (static_cast<double>(plan.kv_blocks) * cache.ratio);
}

/// SGLang leaves 10 GiB of the host's memory free (HICACHE_HOST_MEMORY_RESERVE_BYTES there); each
/// rank compares its own pool with what is available when it starts, so that all must fit.
Bytes host_memory_of_node(const Deployment& deployment, Bytes of_rank) {
  if (of_rank.value <= 0) return {};
  const int ranks = std::min(deployment.parallel.gpus(), deployment.gpu.gpus_per_node);
  const bool reserves = deployment.engine.hierarchical_cache.on();
  return of_rank * static_cast<double>(ranks) + (reserves ? Bytes{10.0 * kGiB} : Bytes{});
}

bool lacks_host_memory(const Engine& engine, const MemoryPlan& plan) {
  return engine.host_memory.value > 0 && plan.host_memory > engine.host_memory;
}

/// The ratio or size that fits the stated host memory.
std::string host_shortage(const Deployment& deployment, const MemoryPlan& plan) {
  const Engine& engine = deployment.engine;
  const Bytes kept = host_memory_of_node(deployment, plan.host_cache);
  const int ranks = std::min(deployment.parallel.gpus(), deployment.gpu.gpus_per_node);
  const Bytes room = engine.host_memory - (kept - plan.host_cache * static_cast<double>(ranks));
  std::string remedy;
  if (engine.hierarchical_cache.on() && engine.hierarchical_cache.size.value <= 0) {
    const double ratio = std::floor(engine.hierarchical_cache.ratio *
                                    (room / (plan.host_cache * static_cast<double>(ranks))) * 100) /
                         100;
    if (ratio > 0) remedy = fmt::format("; --hicache-ratio {:g} fits", ratio);
  }
  return fmt::format(
      "K and V in host memory need {:.1f} GiB of a node ({} x {:.1f} GiB for its ranks{}), {:.1f} "
      "GiB are free{}",
      to_gib(plan.host_memory), ranks, to_gib(plan.host_cache),
      engine.hierarchical_cache.on() ? ", 10 GiB left free" : "", to_gib(engine.host_memory),
      remedy);
}

/// Tokens of a prompt that one step computes at most.
std::int64_t longest_chunk(const Engine& engine) {
  const std::int64_t threshold = engine.long_prefill_token_threshold;
  return threshold > 0 ? std::min(threshold, engine.max_num_batched_tokens)
                       : engine.max_num_batched_tokens;
}

/// vLLM keeps states for cached prefixes at the ends of blocks, so that one step must be able to
/// reach from one to the next (config/vllm.py, validate_block_size: "In Mamba cache align mode,
/// block_size must be <= max_num_batched_tokens"; likewise long_prefill_token_threshold).
bool cannot_reach_block_ends(const Engine& engine, const MemoryPlan& plan) {
  return traits_of(engine.scheduler).state_checkpoints && engine.memory_rule == MemoryRule::vllm &&
         engine.prefix_caching && has_recurrent_group(plan) &&
         plan.layout.block_tokens > longest_chunk(engine);
}

/// Sequences that SGLang's pool for layers with windows holds: a sequence keeps a window and a page
/// of it there.
std::int64_t held_by_windows(const Deployment& deployment, const MemoryPlan& plan,
                             std::int64_t context) {
  const double share = deployment.engine.window_share.value_or(1.0);
  if (share >= 1.0) return kLongestSequence;
  std::int64_t window = 0;
  for (const Layer& layer : deployment.model.layers) {
    const AttentionSpan span =
        cache_need(layer, deployment.model, deployment.engine.kv_cache_dtype, 1).span;
    if (keeps_window(span)) window = std::max(window, span.tokens);
  }
  const std::int64_t kept = std::min(context, window + plan.layout.block_tokens);
  const auto room = static_cast<std::int64_t>(share * static_cast<double>(plan.tokens_in_blocks));
  return window == 0 || kept == 0 ? kLongestSequence : room / kept;
}

std::string shortage(const Deployment& deployment, const MemoryPlan& plan, Bytes budget,
                     Bytes one_sequence) {
  if (budget.value <= 0) {
    return fmt::format(
        "weights and overheads leave no room for the KV cache: {:.2f} GiB short on each GPU",
        to_gib(Bytes{} - budget));
  }
  if (lacks_host_memory(deployment.engine, plan)) return host_shortage(deployment, plan);
  const Bytes usable = usable_cache(deployment, plan);
  if (cannot_reach_block_ends(deployment.engine, plan)) {
    const bool by_budget = deployment.engine.max_num_batched_tokens < plan.layout.block_tokens;
    return fmt::format(
        "prefix caching keeps recurrent states at the ends of blocks of {} tokens, more than {} "
        "{}; it starts with --{} {} or --enable-prefix-caching=off",
        plan.layout.block_tokens,
        by_budget ? "max_num_batched_tokens" : "long_prefill_token_threshold",
        longest_chunk(deployment.engine),
        by_budget ? "max-num-batched-tokens" : "long-prefill-token-threshold",
        plan.layout.block_tokens);
  }
  if (plan.max_running == 0) {
    return fmt::format(
        "the pool of recurrent states has no room for one request, which may take {} slots; a "
        "higher --mamba-full-memory-ratio makes room",
        deployment.engine.state_slots);
  }
  if (one_sequence <= usable && lacks_state_blocks(deployment.engine, plan)) {
    return fmt::format(
        "max_num_seqs {} exceeds the {} blocks of the KV cache, and the engine wants one for each "
        "sequence's recurrent state; it starts with --max-num-seqs {}",
        deployment.engine.max_num_seqs, plan.kv_blocks, plan.kv_blocks);
  }
  if (one_sequence <= usable) {
    return fmt::format(
        "the requested KV cache does not fit in addition to the rest: {:.2f} GiB short",
        to_gib(beyond_memory(plan)));
  }
  return fmt::format(
      "one sequence of {} tokens needs {:.2f} GiB of KV cache, but {:.2f} GiB are left: {:.2f} GiB "
      "short on each GPU",
      deployment.engine.max_model_len, to_gib(one_sequence), to_gib(usable),
      to_gib(one_sequence - usable));
}

double uncertainty(const Deployment& deployment, Bytes budget) {
  const Engine& engine = deployment.engine;
  if (budget.value <= 0) return 1.0;
  if (engine.memory.relative_residual > 0) return engine.memory.relative_residual;
  const bool compiles = engine.cuda_graphs && engine.memory.compile_peak.value > 0;
  const double start = compiles ? kCompileCacheSpread.value : 0.0;
  const bool other_links =
      deployment.parallel.tensor > 1 && deployment.gpu.architecture != "hopper";
  const double links = other_links ? engine.memory.residual_other_links.value : 0.0;
  const double spread = std::hypot(engine.memory.residual.value, start, links);
  return std::min(1.0, spread / budget.value);
}

}  // namespace

TermKind kind_of(const MemoryTerm& term) {
  if (term.name.starts_with("weights")) return TermKind::weights;
  if (term.name == "activation_peak") return TermKind::activations;
  if (term.name == "reserve") return TermKind::reserve;
  const bool cache = term.name == "kv_cache" || term.name == "state_pool" ||
                     term.name == "unused" || term.name == "shortfall";
  return cache ? TermKind::kv_cache : TermKind::overhead;
}

MemoryPlan plan_memory(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  MemoryDivision division = divide_memory(deployment);
  MemoryPlan plan;
  plan.total = division.total;
  plan.kv_budget = std::max(Bytes{}, division.kv_budget);
  plan.layout = cache_layout_of(deployment, with_draft_layer(deployment), deployment.parallel);
  plan.kv_blocks = count_blocks(engine, plan.layout, plan.kv_budget);
  plan.tokens_in_blocks = tokens_in(plan.layout, plan.kv_blocks);
  plan.kv_tokens = plan.tokens_in_blocks;
  plan.host_cache = rank_host_cache(engine, plan);
  plan.host_memory = host_memory_of_node(deployment, plan.host_cache);
  if (division.state_slots) plan.max_running = *division.state_slots / engine.state_slots;
  plan.relative_uncertainty = uncertainty(deployment, division.kv_budget);

  plan.terms = std::move(division.before);
  plan.terms.push_back(cache_term(plan));
  plan.terms.push_back(remainder_term(division.kv_budget - plan.terms.back().bytes, plan.layout));
  for (MemoryTerm& term : division.after) plan.terms.push_back(std::move(term));

  const Bytes one = sequence_bytes(deployment, plan, engine.max_model_len);
  plan.max_batch = max_batch_at(deployment, plan, engine.max_model_len);
  if (one.value > 0) {
    const Bytes cache = counts_blocks(engine)
                            ? plan.layout.row_bytes() * static_cast<double>(plan.kv_blocks)
                            : plan.kv_budget;
    plan.max_concurrency = cache / one;
  }
  if (engine.memory.prints_page_shares && has_compressed_cache(deployment.model)) {
    const std::int64_t rows =
        printed_rows_per_sequence(plan.layout, engine.max_model_len, reserved_in_flight(engine));
    plan.max_concurrency = static_cast<double>(plan.kv_blocks) / static_cast<double>(rows);
  }
  if (engine.memory.prints_by_length && plan.max_concurrency > 0) {
    const auto length = static_cast<double>(engine.max_model_len);
    plan.kv_tokens = static_cast<std::int64_t>(std::floor(plan.max_concurrency * length));
  }
  plan.fits = plan.max_batch >= 1;
  if (!plan.fits) plan.reason = shortage(deployment, plan, division.kv_budget, one);
  return plan;
}

Bytes usable_cache(const Deployment& deployment, const MemoryPlan& plan) {
  if (!counts_blocks(deployment.engine)) return plan.kv_budget;
  const std::int64_t blocks =
      std::max<std::int64_t>(0, plan.kv_blocks - deployment.engine.memory.null_blocks);
  return plan.layout.row_bytes() * static_cast<double>(blocks);
}

Bytes sequence_bytes(const Deployment& deployment, const MemoryPlan& plan, std::int64_t context) {
  const Engine& engine = deployment.engine;
  if (engine.memory.whole_blocks) return row_bytes_of_sequence(engine, plan.layout, context);
  if (deployment.parallel.pipeline == 1) {
    return cache_bytes_per_sequence(with_draft_layer(deployment), engine.kv_cache_dtype, context,
                                    deployment.parallel.tensor);
  }
  return std::ranges::max(bytes_by_stage(deployment, context));
}

Bytes sequence_bytes_of_stages(const Deployment& deployment, std::int64_t context) {
  Bytes total;
  for (const Bytes bytes : bytes_by_stage(deployment, context)) total += bytes;
  return total;
}

std::int64_t max_batch_at(const Deployment& deployment, const MemoryPlan& plan,
                          std::int64_t context) {
  if (beyond_memory(plan).value > 0 || lacks_state_blocks(deployment.engine, plan) ||
      cannot_reach_block_ends(deployment.engine, plan) ||
      lacks_host_memory(deployment.engine, plan)) {
    return 0;
  }
  const Bytes one = sequence_bytes(deployment, plan, context);
  const Bytes usable = usable_cache(deployment, plan);
  // A model without a cache is limited only by the scheduler.
  if (one.value <= 0) {
    const std::int64_t running =
        std::min(deployment.engine.max_num_seqs, plan.max_running.value_or(kLongestSequence));
    return plan.kv_budget.value > 0 ? running : 0;
  }
  const auto held = static_cast<std::int64_t>(std::floor(usable / one));
  return std::min({held, held_by_windows(deployment, plan, context),
                   plan.max_running.value_or(kLongestSequence)});
}

std::optional<std::int64_t> max_num_seqs_that_starts(const Deployment& deployment,
                                                     const MemoryPlan& plan) {
  if (plan.kv_blocks < 1 || !lacks_state_blocks(deployment.engine, plan)) return std::nullopt;
  return plan.kv_blocks;
}

std::optional<std::int64_t> max_context_at(const Deployment& deployment, const MemoryPlan& plan,
                                           std::int64_t batch) {
  const auto holds = [&](std::int64_t context) {
    return max_batch_at(deployment, plan, context) >= batch;
  };
  const std::int64_t stated =
      std::max(deployment.model.max_context, deployment.engine.max_model_len);
  std::int64_t too_long = (stated > 0 ? stated : kLongestSequence) + 1;
  std::int64_t fits = 0;
  while (too_long - fits > 1) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    (holds(middle) ? fits : too_long) = middle;
  }
  if (fits == 0) return std::nullopt;
  return fits;
}

}  // namespace roofcast
