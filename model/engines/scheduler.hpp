// The engines' schedulers, a row each, with all that code outside of them has to know: a new one is
// its enumerator and its row here, and its policy in simulator/engine/schedulers.hpp. Defaults
// describe a loop with none of these features.
#pragma once

#include <array>
#include <cstddef>

namespace roofcast {

/// Which scheduler runs the steps.
enum class SchedulerKind { vllm_v1, sglang, tensorrt_llm, atom, static_batch, naive };

/// When a further chunk of a stream is sent, with an interval of n tokens.
enum class StreamChunks {
  after_last,   // n tokens after the last chunk (vLLM 0.19, v1/engine/output_processor.py,
                // make_request_output)
  after_first,  // tokens 1, n + 1, 2n + 1 (SGLang 0.5.15, scheduler_components/output_streamer.py,
                // accept)
  multiples     // tokens 1, n, 2n (TensorRT-LLM 1.0, pyexecutor/py_executor.py, _handle_responses)
};

/// How an engine spreads requests over its data-parallel ranks (simulator/cluster/router.hpp).
enum class RankRouting { least_waiting, round_robin, least_outstanding };

struct SchedulerTraits {
  SchedulerKind kind;
  bool prefix_cache = false;  // may keep prefixes, and split prompts over steps
  /// A decode takes one token of the step's budget, and captured sizes count tokens, not sequences.
  bool budgets_decodes = false;
  /// Keeps the recurrent state at the ends of blocks for cached prefixes, and one for each draft.
  bool state_checkpoints = false;
  /// Cache slots of the last decode's drafts end at max_model_len, and follow the request's own
  /// output; otherwise every decode has decode_slots().
  bool counts_draft_slots = false;
  int copies_of_draft_slots = 1;  // that a decode with drafts keeps
  /// Drafts that read hidden states need the last block of a cached prefix computed again (vLLM,
  /// v1/core/single_type_kv_cache_manager.py, find_longest_cache_hit).
  bool recomputes_last_block = false;
  /// With K and V from a prefill replica it computes the prompt's last token, and so the first of
  /// the output; otherwise it gets that, too.
  bool recomputes_last_token = false;
  /// Ranks of prefill context parallelism exchange prompts alone, and only in steps in which every
  /// prompt has a part for each of them (SGLang 0.5.16, layers/cp); else what they decode, too.
  bool divides_prompts_alone = false;
  /// The front end tokenises one prompt after the other: SGLang's tokenizer manager in its event
  /// loop (sgl-project/sglang pull 9382 adds batches, off by default). TensorRT-LLM
  /// (openai_server.py, asyncio.to_thread) and ATOM use threads, vLLM batches
  /// (AsyncMicrobatchTokenizer).
  bool tokenises_in_turn = false;
  StreamChunks stream_chunks = StreamChunks::after_last;
  RankRouting rank_routing = RankRouting::least_waiting;
};

inline constexpr std::array kSchedulerTraits = {
    SchedulerTraits{.kind = SchedulerKind::vllm_v1,
                    .prefix_cache = true,
                    .budgets_decodes = true,
                    .state_checkpoints = true,
                    .counts_draft_slots = true,
                    .recomputes_last_block = true,
                    .recomputes_last_token = true},
    // Keeps draft slots twice (0.5.15, mem_cache/allocation_sizing.py,
    // get_alloc_reserve_per_decode). Ranks: 0.5.15, server_args.py, _handle_load_balance_method:
    // "auto" is round robin unless prefill is disaggregated; the default since 0.3.4.
    SchedulerTraits{.kind = SchedulerKind::sglang,
                    .prefix_cache = true,
                    .copies_of_draft_slots = 2,
                    .divides_prompts_alone = true,
                    .tokenises_in_turn = true,
                    .stream_chunks = StreamChunks::after_first,
                    .rank_routing = RankRouting::round_robin},
    // Ranks: none gets more than its share of the requests of all (1.0, executor_request_queue.py,
    // expected_num_active_requests); among those below it the one with the fewest tokens
    // (_balance_requests_across_ranks), here with the fewest requests.
    SchedulerTraits{.kind = SchedulerKind::tensorrt_llm,
                    .prefix_cache = true,
                    .stream_chunks = StreamChunks::multiples,
                    .rank_routing = RankRouting::least_outstanding},
    // Ranks: 0.1.2, model_engine/engine_core_mgr.py, _rr_counter.
    SchedulerTraits{.kind = SchedulerKind::atom,
                    .prefix_cache = true,
                    .rank_routing = RankRouting::round_robin},
    SchedulerTraits{.kind = SchedulerKind::static_batch},
    SchedulerTraits{.kind = SchedulerKind::naive},
};

constexpr const SchedulerTraits& traits_of(SchedulerKind kind) {
  return kSchedulerTraits[static_cast<std::size_t>(kind)];
}

static_assert([] {
  for (std::size_t i = 0; i < kSchedulerTraits.size(); ++i) {
    if (static_cast<std::size_t>(kSchedulerTraits[i].kind) != i) return false;
  }
  return true;
}());

}  // namespace roofcast
