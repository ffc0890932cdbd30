// What a simulation answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/results/slo.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

inline constexpr Nanoseconds kNever = -1;

/// One request's life. Times are simulated; kNever for what did not happen. Of a request that was
/// sent again when its replica was lost, all but `sent` and `queued` is of the last attempt.
struct RequestRecord {
  Request request{};
  Nanoseconds sent = kNever;       // left the client (equals arrival without a concurrency limit)
  Nanoseconds queued = kNever;     // reached the engine: sent + Engine::host.per_request; or came
                                   // to the router when nobody served
  Nanoseconds scheduled = kNever;  // first time in a step
  Nanoseconds first_token = kNever;
  Nanoseconds finished = kNever;
  Nanoseconds largest_gap = 0;     // longest wait between two of its tokens
  std::int64_t cached_tokens = 0;  // of the prompt, answered from the prefix cache at first
  std::int32_t preemptions = 0;
  std::int32_t replica = -1;  // that served it (the last, when several did); -1: none
  bool retried = false;       // its replica failed and it was sent again
  bool lost = false;          // its replica failed and it was not sent again
  bool rejected = false;      // longer than max_model_len, or never fits the KV cache
};

/// Mean and percentiles (linear interpolation between order statistics, as numpy's default).
struct Distribution {
  std::int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, min = 0, max = 0;  // seconds
  bool exact = true;  // or percentiles from a histogram, within DurationHistogram::kRelativeError
};

/// One statistic of a distribution.
struct DistributionStatistic {
  const char* name;                 // "p95"
  double Distribution::*value;      // seconds
  std::optional<double> percent{};  // of a percentile, 0 to 100
  bool in_tables = true;            // and in the store; otherwise in JSON alone
};

/// All of them, in the order in which they are written. Tables, JSON, the store and all that reads
/// a statistic's name go by this list.
inline constexpr auto kDistributionStatistics = std::to_array<DistributionStatistic>({
    {"mean", &Distribution::mean},
    {"p50", &Distribution::p50, 50},
    {"p90", &Distribution::p90, 90},
    {"p95", &Distribution::p95, 95},
    {"p99", &Distribution::p99, 99},
    {"min", &Distribution::min, {}, false},
    {"max", &Distribution::max},
});

/// The statistic of that name that tables have; null for any other text.
constexpr const DistributionStatistic* table_statistic(std::string_view name) {
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.in_tables && statistic.name == name) return &statistic;
  }
  return nullptr;
}

/// Share of steps' time by state, and levels over time.
struct EngineUse {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;     // computed, recomputation included
  std::int64_t recomputed_tokens = 0;  // lost to preemption
  std::int64_t decode_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;          // tokens looked up in the prefix cache at admission,
  std::int64_t prefix_hits = 0;             // and found there
  std::int64_t offload_hits = 0;            // loaded from host memory after that
  double mean_acceptance_length = 0;        // tokens of a decode with drafts; 0 without drafts
  double draft_acceptance = 0;              // accepted share of the drafts
  double mean_kv_use = 0, peak_kv_use = 0;  // share of blocks, time-weighted
  double mean_running = 0;                  // time-weighted over the makespan, as mean_kv_use
  double mean_waiting = 0;  // requests in queues, preempted ones and those at the router included
  std::int64_t peak_running = 0;  // at one time, of all engines together, as mean_running
  std::int64_t peak_waiting = 0;
  double busy_share = 0;  // of the makespan with a step in progress
};

struct TargetOutcome {
  std::string slo_class{};
  PercentileTarget target{};
  std::int64_t requests = 0;  // of the class, with an outcome; with none the target is unmet
  double achieved = 0;        // seconds at the target's percentile; of the completed requests'
                              // largest value when the percentile falls on one not served
  double attainment = 0;      // share of the class's requests within the limit
  bool met = false;           // achieved within the limit, requests not served never being it;
                              // of a stopped run: not judged
  bool exact = true;          // as Distribution::exact
};

/// Is the load sustainable? Decided from the queue, see saturation.hpp.
struct SaturationVerdict {
  bool saturated = false;
  std::string reason{};       // in words, with the numbers behind it
  double queueing_share = 0;  // of mean TTFT spent in the engine's queue
};

/// Of a group of requests: how many, how fast, how long.
struct LoadResult {
  std::int64_t completed = 0;
  std::int64_t rejected = 0;
  std::int64_t lost = 0;
  std::int64_t unfinished = 0;    // when the run was stopped; the four sum to the requests counted
  Seconds makespan;               // first arrival to last finish
  double request_rate_per_s = 0;  // completed / makespan
  double offered_rate_per_s = 0;  // (arrivals - 1) / arrival span; 0 when all arrive at once
  double input_tokens_per_s = 0;
  double output_tokens_per_s = 0;
  Distribution ttft, tpot, itl, e2e;  // TTFT and E2E from `sent`; TPOT of outputs over one token;
                                      // ITL of finished requests, and when the run was stopped of
                                      // those in progress
  Distribution queue;                 // `queued` to `scheduled`: in the engine's queue, and before
                                      // that at a router without replicas or in lost attempts
  Distribution client_queue;          // waiting for the client's concurrency limit: to `sent`
  std::optional<double> goodput_per_s;
  std::optional<double> goodput_share;  // of the requests with an outcome
};

/// One of several load stages by itself.
struct StageResult : LoadResult {
  std::string name{};
};

/// What one of several replicas served.
struct ReplicaResult {
  std::string pool{};
  std::int32_t index = 0;      // within its pool
  std::int64_t served = 0;     // prompts that it computed, if that is all it does, else `completed`
  std::int64_t completed = 0;  // requests that had their last token here
  std::int64_t lost = 0;
  EngineUse use{};  // over its part of the makespan, data-parallel ranks together
  Seconds paid{};   // from when it was ordered until it left, start-up included
};

/// All requests together, apart from those of stages that are not reported.
struct SimulationResult : LoadResult {
  bool stopped = false;  // by the user, before the end: of what had arrived, and without verdicts
  std::vector<RequestRecord> requests;  // of all stages
  std::vector<StageResult> stages;      // when several are reported
  std::int64_t unreported = 0;          // requests of stages that are not
  Seconds whole_makespan;               // theirs included: what `use` is about
  std::vector<TargetOutcome> slo;
  SaturationVerdict saturation;
  EngineUse use;  // of all replicas: sums and means, the KV peak of the fullest engine
  // When there are several, or one may come or go; in order of their indexes.
  std::vector<ReplicaResult> replicas;
  std::vector<std::string> notes;  // what was not served and why, for the user to read
};

}  // namespace roofcast
