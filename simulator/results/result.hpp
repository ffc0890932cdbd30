// The result of a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/distribution.hpp"
#include "simulator/results/slo.hpp"
#include "simulator/results/steady_state.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

inline constexpr Nanoseconds kNever = -1;

/// Timeline of one request, in simulated time; kNever for events that did not happen. If the
/// request was resent because its replica failed, all fields except `sent` and `queued` describe
/// the last attempt.
struct RequestRecord {
  Request request{};               // as in the workload; of one that follows another, `arrival` is
                                   // a time as soon as that one has finished, not a pause
  Nanoseconds sent = kNever;       // left the client (equals arrival without a concurrency limit)
  Nanoseconds queued = kNever;     // reached the engine: sent + Engine::host.per_request; or
                                   // reached the router while no replica served
  Nanoseconds scheduled = kNever;  // first time in a step
  Nanoseconds first_token = kNever;
  Nanoseconds finished = kNever;
  Nanoseconds largest_gap = 0;     // longest wait between two of its tokens
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache at first admission
  std::int32_t preemptions = 0;
  std::int32_t replica = -1;  // that served it (the last of several); -1: none
  bool retried = false;       // resent after its replica failed
  bool lost = false;          // its replica failed and it was not resent
  bool rejected = false;      // longer than max_model_len, or never fits the KV cache
};

/// Counts of an engine, and levels averaged over time.
struct EngineUse {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;     // computed, recomputation included
  std::int64_t recomputed_tokens = 0;  // lost to preemption
  std::int64_t decode_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;          // tokens looked up in the prefix cache at admission,
  std::int64_t prefix_hits = 0;             // and found there
  std::int64_t offload_hits = 0;            // loaded from host memory after that
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

struct TargetOutcome {
  std::string slo_class{};
  PercentileTarget target{};
  std::int64_t requests = 0;  // of the class, with an outcome; if 0 the target is unmet
  double achieved = 0;        // seconds at the target's percentile; if that falls on an unserved
                              // request, the largest value of the completed ones
  double attainment = 0;      // share of the class's requests within the limit
  bool met = false;           // achieved within the limit; unserved requests count as over it. Not
                              // judged if the run was stopped
  bool exact = true;          // as in Distribution::exact
  /// 99 % interval of the share within the limit in the steady state, the warm-up left out; unset:
  /// too few requests, gaps between tokens, or all requests sent at once.
  std::optional<ConfidenceInterval> share{};
  /// If the requests are a sample of a longer load: whether `met` holds for that too.
  bool decided = true;
};

/// Whether the load is sustainable, decided from the backlog; see saturation.hpp.
struct SaturationVerdict {
  bool saturated = false;
  bool undecided = false;  // the run is too short to tell; never together with `saturated`
  bool filled = false;     // arrivals last long enough for a steady state
  double growth_low = 0;   // 99 % interval of the backlog's growth, as a share of the arrivals
  double growth_high = 0;
  std::string
      finding{};         // in words: "keeps up: the backlog grows by at most 0.3 % of what arrives"
  std::string counts{};  // what it was found from: "the last 900 requests arrived within ..."
  std::string ttft{};    // where TTFT goes, if that is of interest
  double queueing_share = 0;  // share of mean TTFT spent in the engine's queue

  /// "finding (counts); ttft", without those that are empty.
  std::string reason() const;
};

/// Counts, rates and latencies of a group of requests.
struct LoadResult {
  std::int64_t completed = 0;
  std::int64_t rejected = 0;
  std::int64_t lost = 0;
  std::int64_t unfinished = 0;    // when the run was stopped; the four add up to the requests
                                  // counted
  Seconds makespan;               // first arrival to last finish
  double request_rate_per_s = 0;  // completed / makespan
  double offered_rate_per_s = 0;  // (arrivals - 1) / arrival span, of sessions times their turns;
                                  // 0 when all arrive at once
  double input_tokens_per_s = 0;
  double output_tokens_per_s = 0;
  Distribution ttft, tpot, itl, e2e;  // TTFT and E2E from `sent`; TPOT of outputs of more than one
                                      // token; ITL of finished requests, and of those in progress
                                      // if the run was stopped
  Distribution queue;                 // `queued` to `scheduled`: in the engine's queue, including
                                      // earlier time at a router without replicas or in lost
                                      // attempts
  Distribution client_queue;          // waiting for the client's concurrency limit, until `sent`
  std::optional<double> goodput_per_s;
  std::optional<double> goodput_share;  // of the requests with an outcome
};

/// The result of one of several load stages.
struct StageResult : LoadResult {
  std::string name{};
};

/// The work of one of several replicas.
struct ReplicaResult {
  std::string pool{};
  std::int32_t index = 0;      // within its pool
  std::int64_t served = 0;     // prompts computed if it is a prefill replica, else `completed`
  std::int64_t completed = 0;  // requests whose last token was generated here
  std::int64_t lost = 0;
  EngineUse use{};  // over its part of the makespan, all its data-parallel ranks together
  Seconds paid{};   // from order to departure, start-up included
};

/// Requirements beyond the SLO's targets.
struct SloRequirement {
  /// Minimum share of requests within all goodput limits of the SLO; unset: not required.
  std::optional<double> min_goodput_share{};
  /// The requests are a sample of a longer load, of which the verdict speaks: a target counts as
  /// undecided if the sample is too small for it. Otherwise they are all there are, as in a trace.
  bool sample = false;
  /// An undecided verdict does not hold: for searches, whose answer must stand.
  bool must_stand = false;
};

/// All requests together, except those of unreported stages.
struct SimulationResult : LoadResult {
  bool stopped = false;  // by the user, before the end: covers what had arrived, has no verdicts
  std::vector<RequestRecord> requests;  // of all stages
  std::vector<StageResult> stages;      // if several are reported
  std::int64_t unreported = 0;          // requests in unreported stages
  Seconds whole_makespan;               // including unreported stages: the time over which `use`
                                        // is averaged
  std::vector<TargetOutcome> slo;
  SloRequirement requirement{};  // under which the load was judged
  std::optional<ConfidenceInterval>
      goodput_interval{};         // of goodput_share, as TargetOutcome::share
  double session_rate_per_s = 0;  // sessions offered; 0 if requests do not follow each other
  SaturationVerdict saturation;
  EngineUse use;  // of all replicas: sums and means, peak KV use of the fullest engine
  // Filled if there are several replicas, or if they can come and go; in order of index.
  std::vector<ReplicaResult> replicas;
  std::vector<std::string> notes;  // for the user: what was not served and why
};

}  // namespace roofcast
