#include "simulator/results/figures.hpp"

#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

using Value = std::optional<double>;
using Result = const SimulationResult&;

Value count(std::int64_t number) { return static_cast<double>(number); }

constexpr auto kScalarFigures = std::to_array<ScalarFigure>({
    {"requests_completed", [](Result r) { return count(r.completed); }},
    {"requests_rejected", [](Result r) { return count(r.rejected); }},
    {"requests_lost", [](Result r) { return r.lost > 0 ? count(r.lost) : Value{}; }},
    {"makespan_s", [](Result r) { return Value(r.makespan.value); }},
    {"request_rate_per_s", [](Result r) { return Value(r.request_rate_per_s); }},
    {"offered_rate_per_s", [](Result r) { return Value(r.offered_rate_per_s); }},
    {"input_tokens_per_s", [](Result r) { return Value(r.input_tokens_per_s); }},
    {"output_tokens_per_s", [](Result r) { return Value(r.output_tokens_per_s); }},
    {"preemptions", [](Result r) { return count(r.use.preemptions); }},
    {"running_mean", [](Result r) { return Value(r.use.mean_running); }},
    {"kv_use_mean", [](Result r) { return Value(r.use.mean_kv_use); }},
    {"kv_use_peak", [](Result r) { return Value(r.use.peak_kv_use); }},
    {"kv_empty_mean", [](Result r) { return Value(r.use.mean_kv_empty); }},
    {"kv_empty_peak", [](Result r) { return Value(r.use.peak_kv_empty); }},
    {"kv_empty_share", [](Result r) { return kv_empty_share(r.use); }},
    {"kv_unused_mean", [](Result r) { return Value(r.use.mean_kv_unused); }},
    {"kv_stranded_mean", [](Result r) { return Value(r.use.mean_kv_stranded); }},
    {"prefix_query_tokens", [](Result r) { return count(r.use.prefix_queries); }},
    {"prefix_hit_tokens", [](Result r) { return count(r.use.prefix_hits); }},
    {"goodput_per_s", [](Result r) { return r.goodput_per_s; }},
    {"slo_met", [](Result r) { return r.slo.empty() ? Value{} : count(judge(r).holds); }},
});

}  // namespace

const char* title_of(LatencyMetric metric) {
  const std::string name = std::string(name_of(metric)) + "_s";
  for (const LatencyFigure& latency : kLatencyFigures) {
    if (name == latency.name) return latency.title;
  }
  return "";  // unreachable: every metric has a figure
}

std::optional<double> kv_empty_share(const EngineUse& use) {
  return use.mean_kv_use > 0 ? std::optional(use.mean_kv_empty / use.mean_kv_use) : std::nullopt;
}

std::span<const ScalarFigure> scalar_figures() { return kScalarFigures; }

}  // namespace roofcast
