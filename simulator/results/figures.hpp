// The figures of a result under the names that JSON, the store and flags use, each listed once:
// latencies here, single numbers where their members are (load_result.hpp, engine_use.hpp). A name
// ends in its unit (_s, _per_s); without one it is a count or a share.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/results/request_tally.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// A latency whose distribution is in the result.
struct LatencyFigure {
  const char* name;   // "ttft_s"
  const char* title;  // "TTFT", as tables and papers write it
  Distribution LoadResult::*distribution;
  const char* meaning;
  std::optional<LatencyPart> part{};  // of each request's life; ITL has none, its gaps are pooled
  bool waits = true;  // contains time in queues: beyond saturation it grows with the run's length
  bool left_out_if_empty = false;  // of answers: only some engines have it
};

inline constexpr auto kLatencyFigures = std::to_array<LatencyFigure>({
    {"ttft_s", "TTFT", &LoadResult::ttft, "time to first token, from when the client sent it",
     LatencyPart::ttft},
    {"tpot_s", "TPOT", &LoadResult::tpot, "mean time between the tokens of a request",
     LatencyPart::tpot, false},
    {"itl_s", "ITL", &LoadResult::itl, "every gap between two tokens", {}, false},
    {"e2e_s", "E2E", &LoadResult::e2e, "time to the last token, from when the client sent it",
     LatencyPart::e2e},
    {"queue_s", "queue", &LoadResult::queue, "in the engine's queue", LatencyPart::queue},
    {"client_queue_s", "client queue", &LoadResult::client_queue,
     "waiting for the client's concurrency limit", LatencyPart::client_queue},
    {.name = "tokenizer_queue_s",
     .title = "tokeniser queue",
     .distribution = &LoadResult::tokenizer_queue,
     .meaning = "waiting for the prompts before it to be tokenised",
     .part = LatencyPart::tokenizer_queue,
     .left_out_if_empty = true},
});

/// Those that an SLO can limit, in the order of LatencyMetric; the rest are queues.
inline constexpr auto kTargetLatencies = std::span(kLatencyFigures).first<4>();

const LatencyFigure& figure_of(LatencyMetric metric);

/// Whether this latency of a saturated run grows with the run: not of the queues in which requests
/// hardly wait, a tenth of the mean TTFT or less, since another one fills before them.
bool grows_if_saturated(const LoadResult& load, const LatencyFigure& latency);

/// Of these, "ttft_s" and so on; null if `name` is none.
const LatencyFigure* latency_named(std::string_view name);

/// "TTFT"
inline const char* title_of(LatencyMetric metric) { return figure_of(metric).title; }

/// A figure with a single value, as the store has it.
struct StoredFigure {
  const char* name;
  const FigureWords* words;
  std::optional<double> value{};
};

/// All that the store keeps of a result, in order; unset: the result has none. The names do not
/// depend on the result.
std::vector<StoredFigure> stored_figures(const SimulationResult& result);

/// Of a figure that is one number; null if `name` is none.
const FigureWords* words_of_figure(std::string_view name);

}  // namespace roofcast
