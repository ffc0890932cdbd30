#include "cli/simulate_document.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/deployment_options.hpp"
#include "cli/envelope.hpp"
#include "reports/numbers.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

struct NamedDistribution {
  const char* key;
  const char* title;
  const Distribution& values;
};

std::vector<NamedDistribution> distributions(const SimulationResult& result) {
  return {
      {"ttft_s", "TTFT", result.ttft},    {"tpot_s", "TPOT", result.tpot},
      {"itl_s", "ITL", result.itl},       {"e2e_s", "E2E", result.e2e},
      {"queue_s", "queue", result.queue}, {"client_queue_s", "client queue", result.client_queue}};
}

std::vector<std::pair<const char*, double>> statistics(const Distribution& d) {
  return {{"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90}, {"p95", d.p95},
          {"p99", d.p99},   {"min", d.min}, {"max", d.max}};
}

Json distribution_json(const Distribution& distribution) {
  Json json;
  json["count"] = distribution.count;
  for (const auto& [name, value] : statistics(distribution)) json[name] = value;
  return json;
}

Table latency_table(const SimulationResult& result) {
  Table table{.title = "Latency",
              .columns = {{"", false}, {"mean"}, {"p50"}, {"p90"}, {"p95"}, {"p99"}, {"max"}},
              .rows = {}};
  for (const NamedDistribution& named : distributions(result)) {
    const Distribution& d = named.values;
    const bool unused = &d == &result.client_queue && d.max == 0;
    if (d.count == 0 || unused) continue;
    table.rows.push_back({named.title, as_time(Seconds{d.mean}), as_time(Seconds{d.p50}),
                          as_time(Seconds{d.p90}), as_time(Seconds{d.p95}), as_time(Seconds{d.p99}),
                          as_time(Seconds{d.max})});
  }
  return table;
}

Table load_table(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  const EngineUse& use = result.use;
  Table table{.title = "Load", .columns = {{"", false}, {""}}, .rows = {}};
  auto row = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  row("requests", fmt::format("{} completed, {} rejected of {}", with_separators(result.completed),
                              with_separators(result.rejected),
                              with_separators(static_cast<std::int64_t>(result.requests.size()))));
  row("makespan", as_time(result.makespan));
  row("request rate", fmt::format("{} /s served, {}", fixed(result.request_rate_per_s, 2),
                                  result.offered_rate_per_s > 0
                                      ? fixed(result.offered_rate_per_s, 2) + " /s offered"
                                      : "offered all at once"));
  row("tokens", fmt::format("{} /s in, {} /s out", fixed(result.input_tokens_per_s, 0),
                            fixed(result.output_tokens_per_s, 0)));
  row("steps", with_separators(use.steps));
  row("running", fmt::format("{} mean, {} peak", fixed(use.mean_running, 1),
                             with_separators(use.peak_running)));
  row("waiting", fmt::format("{} mean, {} peak", fixed(use.mean_waiting, 1),
                             with_separators(use.peak_waiting)));
  row("KV use", fmt::format("{} mean, {} peak of {} blocks", as_percent(use.mean_kv_use),
                            as_percent(use.peak_kv_use), with_separators(run.plan.kv_blocks)));
  row("preemptions", fmt::format("{} ({} tokens recomputed)", with_separators(use.preemptions),
                                 with_separators(use.recomputed_tokens)));
  row("engine busy", as_percent(use.busy_share));
  if (result.goodput_per_s) {
    row("goodput", fmt::format("{} /s ({} of the requests)", fixed(*result.goodput_per_s, 2),
                               as_percent(result.goodput_share.value_or(0))));
  }
  return table;
}

/// The metric as tables and papers write it.
const char* title_of(LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return "TTFT";
    case LatencyMetric::tpot:
      return "TPOT";
    case LatencyMetric::itl:
      return "ITL";
    case LatencyMetric::e2e:
      break;
  }
  return "E2E";
}

/// A limit in the unit and with the digits that people give it: "500 ms", "1.5 s".
std::string as_limit(Seconds limit) {
  return limit.value < 1 ? fmt::format("{:g} ms", limit.value * 1e3)
                         : fmt::format("{:g} s", limit.value);
}

Table slo_table(const SimulationResult& result) {
  Table table{
      .title = "SLO",
      .columns = {{"Class", false}, {"Target", false}, {"Achieved"}, {"Within"}, {"", false}},
      .rows = {}};
  for (const TargetOutcome& outcome : result.slo) {
    const PercentileTarget& target = outcome.target;
    table.rows.push_back({outcome.slo_class,
                          fmt::format("p{:g} {} <= {}", target.percentile, title_of(target.metric),
                                      as_limit(target.limit)),
                          outcome.achieved > 0 ? as_time(Seconds{outcome.achieved}) : "-",
                          as_percent(outcome.attainment), outcome.met ? "met" : "MISSED"});
  }
  return table;
}

Json slo_json(const SimulationResult& result) {
  Json targets = Json::array();
  for (const TargetOutcome& outcome : result.slo) {
    const bool measured = outcome.achieved > 0;
    targets.push_back({{"class", outcome.slo_class},
                       {"metric", name_of(outcome.target.metric)},
                       {"percentile", outcome.target.percentile},
                       {"limit_s", outcome.target.limit.value},
                       {"achieved_s", measured ? Json(outcome.achieved) : Json(nullptr)},
                       {"attainment", outcome.attainment},
                       {"met", outcome.met}});
  }
  return {{"met", slo_met(result)}, {"targets", std::move(targets)}};
}

Json machine_json(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  const EngineUse& use = result.use;
  Json inputs = describe(run.deployment);
  inputs["scenario"] = Json::parse(to_json(run.scenario));
  inputs["profile_hash"] = run.profile_hash;
  Json json = envelope("simulate", std::move(inputs));
  json["workload"] = {{"description", run.workload.description},
                      {"requests", run.workload.requests.size()},
                      {"rows_skipped", run.workload.rows_skipped},
                      {"notes", run.workload.notes}};
  json["requests_completed"] = result.completed;
  json["requests_rejected"] = result.rejected;
  json["makespan_s"] = result.makespan.value;
  json["request_rate_per_s"] = result.request_rate_per_s;
  json["offered_rate_per_s"] = result.offered_rate_per_s;
  json["input_tokens_per_s"] = result.input_tokens_per_s;
  json["output_tokens_per_s"] = result.output_tokens_per_s;
  json["preemptions"] = use.preemptions;
  for (const NamedDistribution& named : distributions(result)) {
    json[named.key] = distribution_json(named.values);
  }
  json["goodput_per_s"] = result.goodput_per_s ? Json(*result.goodput_per_s) : Json(nullptr);
  json["goodput_share"] = result.goodput_share ? Json(*result.goodput_share) : Json(nullptr);
  json["slo"] = slo_json(result);
  json["saturation"] = {{"saturated", result.saturation.saturated},
                        {"reason", result.saturation.reason},
                        {"queueing_share", result.saturation.queueing_share}};
  json["engine"] = {{"steps", use.steps},
                    {"prefill_tokens", use.prefill_tokens},
                    {"recomputed_tokens", use.recomputed_tokens},
                    {"decode_tokens", use.decode_tokens},
                    {"kv_blocks", run.plan.kv_blocks},
                    {"kv_use_mean", use.mean_kv_use},
                    {"kv_use_peak", use.peak_kv_use},
                    {"running_mean", use.mean_running},
                    {"running_peak", use.peak_running},
                    {"waiting_mean", use.mean_waiting},
                    {"waiting_peak", use.peak_waiting},
                    {"busy_share", use.busy_share}};
  json["unserved"] = run.result.notes;
  json["notes"] = run.notes;
  return json;
}

std::string capitalised(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z')
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  return sentence;
}

/// The answer in a line each: does the SLO hold, and does the engine keep up.
std::vector<std::string> verdict(const SimulationResult& result) {
  std::vector<std::string> lines;
  const auto missed = std::count_if(result.slo.begin(), result.slo.end(),
                                    [](const TargetOutcome& outcome) { return !outcome.met; });
  if (!result.slo.empty()) {
    lines.push_back(missed == 0 ? "The SLO holds."
                                : fmt::format("The SLO does not hold: {} of {} targets missed.",
                                              missed, result.slo.size()));
  }
  lines.push_back(capitalised(result.saturation.reason) + ".");
  return lines;
}

}  // namespace

bool slo_met(const SimulationResult& result) {
  return std::all_of(result.slo.begin(), result.slo.end(),
                     [](const TargetOutcome& outcome) { return outcome.met; });
}

Document simulation_document(const SimulationRun& run) {
  Document document{.machine = machine_json(run), .sections = {}};
  Section head{.heading = headline(run.deployment), .lines = {}, .table = {}};
  if (run.result.completed > 0) head.table = latency_table(run.result);
  head.lines.push_back(run.workload.description);
  const std::vector<std::string>& altered = run.workload.notes;
  const std::vector<std::string>& unserved = run.result.notes;
  head.lines.insert(head.lines.end(), altered.begin(), altered.end());
  head.lines.insert(head.lines.end(), unserved.begin(), unserved.end());
  const std::vector<std::string> answer = verdict(run.result);
  head.lines.insert(head.lines.end(), answer.begin(), answer.end());
  document.sections.push_back(std::move(head));
  document.sections.push_back({.heading = "", .lines = {}, .table = load_table(run)});
  if (!run.result.slo.empty()) {
    document.sections.push_back({.heading = "", .lines = {}, .table = slo_table(run.result)});
  }
  if (!run.notes.empty()) {
    document.sections.push_back({.heading = "Notes", .lines = run.notes, .table = {}});
  }
  return document;
}

}  // namespace roofcast
