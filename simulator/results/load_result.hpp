// Counts, rates and latencies of a group of requests, and the list of those that are one number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/distribution.hpp"
#include "base/units.hpp"
#include "simulator/results/scalar_figure.hpp"

namespace roofcast {

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
  Distribution tokenizer_queue;       // `tokenizer_wait`; empty if no request waited
  std::optional<double> goodput_per_s;
  std::optional<double> goodput_share;  // of the requests with an outcome
};

/// The share of the mean TTFT in which prompts wait for those before them to be tokenised.
inline double tokenizer_share(const LoadResult& load) {
  return load.ttft.mean > 0 ? load.tokenizer_queue.mean / load.ttft.mean : 0;
}

using LoadFigure = ScalarFigure<std::int64_t LoadResult::*, double LoadResult::*,
                                Seconds LoadResult::*, std::optional<double> LoadResult::*>;

/// All of them but the latencies (figures.hpp), in the order of answers: a count or a rate is added
/// here and as a member above.
inline constexpr auto kLoadFigures = [] {
  constexpr FigureForm kCount = FigureForm::count, kNumber = FigureForm::number;
  constexpr FigurePlaces kStored{.own_row = false};
  constexpr FigurePlaces kEachLoad{.own_row = false, .at_each_load = true};
  return std::to_array<LoadFigure>({
      {"requests_completed",
       &LoadResult::completed,
       {"requests completed", "requests", kCount, kStored}},
      {"requests_rejected",
       &LoadResult::rejected,
       {"requests rejected", "too long for the engine or its KV cache", kCount, kStored}},
      {"requests_lost",
       &LoadResult::lost,
       {"requests lost",
        "lost with a failed replica and not sent again",
        kCount,
        {.zero_stored = false, .own_row = false}}},
      {"makespan_s", &LoadResult::makespan, {"makespan", "first arrival to last completion"}},
      {"request_rate_per_s",
       &LoadResult::request_rate_per_s,
       {"requests/s", "completed / makespan", kNumber, kEachLoad, true}},
      {"offered_rate_per_s",
       &LoadResult::offered_rate_per_s,
       {"offered/s", "arrivals; 0 if all come at once", kNumber, kEachLoad}},
      {"input_tokens_per_s",
       &LoadResult::input_tokens_per_s,
       {"input tokens/s", "of completed requests, over the makespan", kNumber, kStored, true}},
      {"output_tokens_per_s",
       &LoadResult::output_tokens_per_s,
       {"output tokens/s", "of completed requests, over the makespan", kNumber, kEachLoad, true}},
      {"goodput_per_s",
       &LoadResult::goodput_per_s,
       {"goodput/s",
        "requests within all goodput limits, over the makespan; null without goodput limits",
        kNumber, kStored, true}},
      {"goodput_share",
       &LoadResult::goodput_share,
       {"goodput",
        "share of the requests with an outcome",
        FigureForm::share,
        {.stored = false, .own_row = false}}},
  });
}();

}  // namespace roofcast
