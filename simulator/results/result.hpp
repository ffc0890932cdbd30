// The result of a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/results/engine_use.hpp"
#include "simulator/results/load_result.hpp"
#include "simulator/results/slo.hpp"
#include "simulator/results/steady_state.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

inline constexpr Nanoseconds kNever = -1;

/// Timeline of one request, in simulated time; kNever for events that did not happen. If the
/// request was resent because its replica failed, all fields except `sent` and `queued` describe
/// the last attempt.
struct RequestRecord {
  Request request{};            // as in the workload; of one that follows another, `arrival` is
                                // a time as soon as that one has finished, not a pause
  Nanoseconds sent = kNever;    // left the client (equals arrival without a concurrency limit)
  Nanoseconds queued = kNever;  // reached the engine: tokenised, and Engine::host.per_request; or
                                // reached the router while no replica served
  Nanoseconds scheduled = kNever;  // first time in a step
  Nanoseconds first_token = kNever;
  Nanoseconds finished = kNever;
  Nanoseconds largest_gap = 0;     // longest wait between two of its tokens
  Nanoseconds tokenizer_wait = 0;  // before `queued`: until earlier prompts were tokenised
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache at first admission
  std::int32_t preemptions = 0;
  std::int32_t replica = -1;  // that served it (the last of several); -1: none
  bool retried = false;       // resent after its replica failed
  bool lost = false;          // its replica failed and it was not resent
  bool rejected = false;      // longer than max_model_len, or never fits the KV cache
};

/// A target of the SLO and what was achieved.
struct TargetOutcome {
  std::string slo_class{};
  PercentileTarget target{};
  std::int64_t requests = 0;  // of the class, with an outcome; if 0 the target is unmet
  double achieved = 0;        // seconds at the target's percentile; if that falls on an unserved
                              // request, the largest value of the completed ones
  double attainment = 0;      // share of the class's requests within the limit
  bool met = false;           // achieved within the limit; unserved requests count as over it
  bool judged = true;         // false: the run was stopped, so `met` says nothing
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
  bool judged = true;      // false: the run was stopped
  bool undecided = false;  // the run is too short to tell; never together with `saturated`
  bool filled = false;     // arrivals last long enough for a steady state
  /// 99 % interval of the backlog's growth, as a share of the arrivals; unset: there is no rate.
  std::optional<ConfidenceInterval> growth{};
  std::string
      finding{};         // in words: "keeps up: the backlog grows by at most 0.3 % of what arrives"
  std::string counts{};  // what it was found from: "the last 900 requests arrived within ..."
  std::string ttft{};    // where TTFT goes, if that is of interest
  double queueing_share = 0;  // share of mean TTFT spent in the engine's queue

  /// "finding (counts); ttft", without those that are empty.
  std::string reason() const;
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
