// What engines did in a run: counts, levels averaged over time, and the list of these figures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "simulator/results/scalar_figure.hpp"

namespace roofcast {

/// What engines count step by step; counts of several engines add up.
struct EngineCounts {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;     // computed, recomputation included
  std::int64_t recomputed_tokens = 0;  // lost to preemption
  std::int64_t decode_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;  // tokens looked up in the prefix cache at admission,
  std::int64_t prefix_hits = 0;     // and found there
  std::int64_t offload_hits = 0;    // tokens loaded from host memory after that

  /// Adds every count of the list below.
  EngineCounts& operator+=(const EngineCounts& more);
};

/// Counts of an engine, and levels averaged over time.
struct EngineUse : EngineCounts {
  double mean_acceptance_length = 0;        // tokens per decode with drafts; 0 without drafts
  double draft_acceptance = 0;              // accepted share of drafts
  double mean_kv_use = 0, peak_kv_use = 0;  // share of blocks, time-weighted
  // Fragmentation, as shares of the same blocks (Kwon et al., SOSP 2023, section 3.1).
  double mean_kv_empty = 0, peak_kv_empty = 0;  // allocated to a sequence, but without K and V yet
  double mean_kv_unused = 0;    // of these, beyond the end of the request (contiguous K and V only)
  double mean_kv_stranded = 0;  // free, but in ranges too short for the next request that waits
                                // (contiguous K and V only)
  double mean_running = 0;      // time-weighted over the makespan, as mean_kv_use
  double mean_waiting = 0;  // requests in queues, including preempted ones and those at the router
  std::int64_t peak_running = 0;  // maximum at one time over all engines
  std::int64_t peak_waiting = 0;
  double busy_share = 0;  // share of the makespan with a step in progress
  double steps_at_once =
      0;  // for a pipeline: mean number of steps at work in that time; 0 otherwise
};

/// Share of the allocated K/V slots that are empty, on average over time; unset if none was
/// allocated.
std::optional<double> kv_empty_share(const EngineUse& use);

using EngineFigure = ScalarFigure<std::int64_t EngineCounts::*, std::int64_t EngineUse::*,
                                  double EngineUse::*, std::optional<double> (*)(const EngineUse&)>;

/// All figures of an engine, in the order of answers: a count or a level is added here and as a
/// member above.
inline constexpr auto kEngineFigures = [] {
  constexpr FigureForm kNumber = FigureForm::number, kCount = FigureForm::count,
                       kShare = FigureForm::share;
  constexpr FigurePlaces kStored{.own_row = false};
  constexpr FigurePlaces kAnswers{.stored = false, .own_row = false};
  constexpr FigurePlaces kEachLoad{.own_row = false, .at_each_load = true};
  return std::to_array<EngineFigure>({
      {"steps", &EngineUse::steps, {"steps", "steps of all engines", kCount, {.stored = false}}},
      {"prefill_tokens",
       &EngineUse::prefill_tokens,
       {"prefill tokens", "computed, recomputation included", kCount, kAnswers}},
      {"recomputed_tokens",
       &EngineUse::recomputed_tokens,
       {"recomputed tokens", "recomputed after preemption", kCount, kAnswers}},
      {"decode_tokens",
       &EngineUse::decode_tokens,
       {"decode tokens", "generated", kCount, kAnswers}},
      {"preemptions",
       &EngineUse::preemptions,
       {"preemptions", "requests sent back to the queue", kCount, kEachLoad}},
      {"prefix_query_tokens",
       &EngineUse::prefix_queries,
       {"prefix tokens looked up", "looked up in the prefix cache", kCount, kStored}},
      {"prefix_hit_tokens",
       &EngineUse::prefix_hits,
       {"prefix tokens found", "found in the prefix cache", kCount, kStored}},
      {"offload_hit_tokens",
       &EngineUse::offload_hits,
       {"host memory tokens", "loaded from host memory", kCount, kAnswers}},
      {"mean_acceptance_length",
       &EngineUse::mean_acceptance_length,
       {"tokens per decode", "tokens per decode with drafts; 0 without drafts", kNumber, kAnswers}},
      {"draft_acceptance",
       &EngineUse::draft_acceptance,
       {"drafts accepted", "accepted share of draft tokens", kShare, kAnswers}},
      {"kv_use_mean",
       &EngineUse::mean_kv_use,
       {"KV use", "mean share of blocks in use", kShare, kStored}},
      {"kv_use_peak",
       &EngineUse::peak_kv_use,
       {"KV use, peak", "peak share of blocks in use, of the fullest engine", kShare, kEachLoad}},
      {"kv_empty_mean",
       &EngineUse::mean_kv_empty,
       {"KV empty, of all", "mean share of the cache that is allocated to sequences, but empty",
        kShare, kStored}},
      {"kv_empty_peak",
       &EngineUse::peak_kv_empty,
       {"KV empty, of all, peak", "of the engine with the most", kShare, kStored}},
      {"kv_empty_share",
       &kv_empty_share,
       {"KV empty, of allocated", "kv_empty_mean over kv_use_mean: of what is allocated", kShare,
        kStored}},
      {"kv_unused_mean",
       &EngineUse::mean_kv_unused,
       {"KV never filled",
        "of kv_empty_mean: reserved beyond the end of the request; 0 if K and V are paged", kShare,
        kStored}},
      {"kv_stranded_mean",
       &EngineUse::mean_kv_stranded,
       {"KV stranded",
        "mean share that is free, but in ranges too short for the request that waits; 0 if K and V "
        "are paged",
        kShare, kStored}},
      {"running_mean",
       &EngineUse::mean_running,
       {"running", "mean number of requests running", kNumber, kEachLoad}},
      {"running_peak",
       &EngineUse::peak_running,
       {"running, peak", "maximum at one time", kCount, kAnswers}},
      {"waiting_mean",
       &EngineUse::mean_waiting,
       {"waiting", "mean number of requests queued", kNumber, kAnswers}},
      {"waiting_peak",
       &EngineUse::peak_waiting,
       {"waiting, peak", "maximum at one time", kCount, kAnswers}},
      {"busy_share",
       &EngineUse::busy_share,
       {"step in progress", "share of the makespan with a step in progress", kShare, kAnswers}},
  });
}();

}  // namespace roofcast
