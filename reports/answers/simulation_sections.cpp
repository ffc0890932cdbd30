#include "reports/answers/simulation_sections.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/cost_cells.hpp"
#include "roofcast/what_if.hpp"
#include "simulator/results/duration_histogram.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

/// Ends of the interval of each statistic of a table's row; none of the maximum.
std::vector<Cell> interval_row(double level, const LatencyInterval& interval,
                               const Distribution& predicted) {
  std::vector<Cell> row{fmt::format("  {:.0f} %", level * 100)};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (!statistic.in_tables) continue;
    row.push_back(is_mean_or_percentile(statistic)
                      ? as_time_range(Seconds{interval.low.*statistic.value},
                                      Seconds{interval.high.*statistic.value},
                                      Seconds{predicted.*statistic.value})
                      : "");
  }
  return row;
}

Table latency_table(const SimulationAnswer& answer) {
  const LoadResult& load = answer.load;
  Table table{.title = "Latency", .columns = {{"", false}}, .rows = {}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.in_tables) table.columns.push_back({statistic.name});
  }
  for (const LatencyFigure& latency : kLatencyFigures) {
    const Distribution& distribution = load.*latency.distribution;
    if (distribution.count == 0) continue;
    // Without a concurrency limit no request waits at the client.
    if (latency.distribution == &LoadResult::client_queue && distribution.max <= 0) continue;
    std::vector<Cell> row{latency.title};
    if (answer.saturation.saturated && grows_if_saturated(load, latency)) {
      row.emplace_back("grows without bound");
      row.resize(table.columns.size());
      table.rows.push_back(std::move(row));
      continue;
    }
    for (const DistributionStatistic& statistic : kDistributionStatistics) {
      if (statistic.in_tables) row.push_back(printed::time(Seconds{distribution.*statistic.value}));
    }
    table.rows.push_back(std::move(row));
    if (!answer.intervals) continue;
    const auto& intervals = answer.intervals->latencies;
    const auto interval = std::ranges::find(intervals, latency.name, &LatencyInterval::latency);
    if (interval == intervals.end()) continue;
    table.rows.push_back(interval_row(answer.intervals->level, *interval, distribution));
  }
  return table;
}

/// A figure for a spreadsheet, in SI units.
Printed plain(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  return {text, text};
}

/// The latencies and the ends of their intervals, each in a column of its own.
Table plain_latency_table(const SimulationAnswer& answer) {
  Table table{.title = "Latency", .columns = {{"Latency", false}}, .rows = {}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (!statistic.in_tables) continue;
    table.columns.push_back({fmt::format("{} (s)", statistic.name)});
    if (!answer.intervals || !is_mean_or_percentile(statistic)) continue;
    table.columns.push_back({fmt::format("{}, low (s)", statistic.name)});
    table.columns.push_back({fmt::format("{}, high (s)", statistic.name)});
  }
  for (const LatencyFigure& latency : kLatencyFigures) {
    const Distribution& distribution = answer.load.*latency.distribution;
    if (distribution.count == 0) continue;
    std::vector<Cell> row{latency.title};
    for (const DistributionStatistic& statistic : kDistributionStatistics) {
      if (!statistic.in_tables) continue;
      row.push_back(plain(distribution.*statistic.value));
      if (!answer.intervals || !is_mean_or_percentile(statistic)) continue;
      const auto& intervals = answer.intervals->latencies;
      const auto interval = std::ranges::find(intervals, latency.name, &LatencyInterval::latency);
      const bool known = interval != intervals.end();
      row.push_back(known ? plain(interval->low.*statistic.value) : "");
      row.push_back(known ? plain(interval->high.*statistic.value) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Every figure of the answer that is one number, under its key, which names the unit.
Table plain_load_table(const SimulationAnswer& answer) {
  Table table{.title = "Load", .columns = {{"Figure", false}, {"Value"}}, .rows = {}};
  const auto add = [&table](const std::string& key, const Json& value) {
    if (value.is_number()) table.rows.push_back({key, Printed(value.dump(), value.dump())});
  };
  const Json all = to_json(answer);
  for (const auto& [key, value] : all.items()) {
    if (key != "schema_version") add(key, value);
  }
  if (const auto engine = all.find("engine"); engine != all.end()) {
    for (const auto& [key, value] : engine->items()) add("engine." + key, value);
  }
  return table;
}

/// Says what the intervals cover.
std::vector<std::string> interval_note(const SimulationAnswer& answer) {
  if (!answer.intervals) return {};
  std::vector<std::string> lines{fmt::format(
      "{:.0f} % intervals: {} may be off{}", answer.intervals->level * 100, uncertain_input_names(),
      answer.intervals->chance ? ", and arrivals vary by chance" : "")};
  if (answer.intervals->saturates) {
    lines.emplace_back(
        "at the slow end of the intervals the engine does not keep up: their upper ends grow with "
        "the length of the run");
  }
  return lines;
}

/// States which percentiles are approximate, if any.
std::vector<std::string> precision_note(const LoadResult& load) {
  const bool requests_exact = load.e2e.exact;  // all except ITL have one value per request
  if (requests_exact && load.itl.exact) return {};
  return {fmt::format("percentiles{} from a histogram, within {:.1g} %",
                      requests_exact ? " of ITL" : "", DurationHistogram::kRelativeError * 100)};
}

std::string outcomes(const LoadResult& result) {
  const std::int64_t requests =
      result.completed + result.rejected + result.lost + result.unfinished;
  return fmt::format("{} completed, {} rejected{} of {}", with_separators(result.completed),
                     with_separators(result.rejected),
                     result.lost > 0 ? ", " + with_separators(result.lost) + " lost" : "",
                     with_separators(requests));
}

std::string offered(const LoadResult& result) {
  return result.offered_rate_per_s > 0 ? fixed(result.offered_rate_per_s, 2) + " requests/s offered"
                                       : "offered all at once";
}

/// Why sessions are served at a lower rate than offered though the engine keeps up: the offered
/// rate is that of their starts, with all their turns.
std::string after_the_last_start(const SimulationAnswer& answer) {
  const LoadResult& load = answer.load;
  if (answer.saturation.saturated || load.request_rate_per_s >= load.offered_rate_per_s) return "";
  return "; the run, and so the rate served, lasts until the last of them is through its turns";
}

Printed prefix_hits(const EngineUse& use) {
  const double share = static_cast<double>(use.prefix_hits) /
                       static_cast<double>(std::max<std::int64_t>(1, use.prefix_queries));
  return printed::percent(share);
}

/// Whether prompts with shared parts went through a prefix cache.
bool can_hit(const SimulationAnswer& answer) {
  return answer.engine.prefix_queries > 0 && answer.workload.shares_prefixes.value_or(false);
}

/// The peak's denominator: the blocks of one engine, or of each pool's engines.
std::string kv_blocks(const SimulationAnswer& answer) {
  if (answer.engine.kv_blocks) return " of " + counted(*answer.engine.kv_blocks, "block");
  std::string text;
  for (const PoolInputs& pool : answer.inputs.pools) {
    text += fmt::format("{}{} {}", text.empty() ? " of " : ", ", pool.name,
                        counted(pool.kv_blocks, "block"));
  }
  return text;
}

bool offloads(const SimulationAnswer& answer) {
  return std::any_of(
      answer.inputs.pools.begin(), answer.inputs.pools.end(), [](const PoolInputs& pool) {
        return pool.deployment.engine && pool.deployment.engine->contains("kv_offloading");
      });
}

/// "2.1 % mean, 5.0 % peak: 4.8 % of what is allocated is unused"
std::string empty_slots(const EngineUse& use) {
  std::string text =
      fmt::format("{} mean, {} peak", as_percent(use.mean_kv_empty), as_percent(use.peak_kv_empty));
  if (const auto share = kv_empty_share(use)) {
    text += fmt::format("; {} of what is allocated is unused", as_percent(*share));
  }
  if (use.mean_kv_unused > 0) {
    text += fmt::format(", {} never filled", as_percent(use.mean_kv_unused / use.mean_kv_use));
  }
  return text;
}

/// The figures that no other row mentions.
template <class Record, class Figures>
void own_rows(Table& table, const Record& record, const Figures& figures) {
  for (const auto& figure : figures) {
    if (!figure.words.places.own_row) continue;
    const auto number = number_of(record, figure);
    if (number) table.rows.push_back({figure.words.title, metric_cell({figure.name}, *number)});
  }
}

Table load_table(const SimulationAnswer& answer) {
  const LoadResult& result = answer.load;
  const EngineUse& use = answer.engine;
  Table table{.title = "Load", .columns = {{"", false}, {"", false}}, .rows = {}};
  auto row = [&](const std::string& name, const Cell& value) {
    table.rows.push_back({name, value});
  };
  row("requests", outcomes(result));
  own_rows(table, result, kLoadFigures);
  row("request rate", fmt::format("{} requests/s served, {}", fixed(result.request_rate_per_s, 2),
                                  offered(result)));
  if (answer.session_rate_per_s) {
    row("sessions",
        fixed(*answer.session_rate_per_s, 2) + " /s offered" + after_the_last_start(answer));
  }
  row("tokens", fmt::format("{} /s in, {} /s out", fixed(result.input_tokens_per_s, 0),
                            fixed(result.output_tokens_per_s, 0)));
  if (const std::string cost = price_words(answer.cost); !cost.empty()) {
    row("cost", cost + (answer.priced_at_load_rate ? " (at the load's rate)" : ""));
  }
  if (const std::string prices = words_of(answer.inputs.scenario.pricing); !prices.empty())
    row("prices", prices);
  if (const std::string power = power_words(answer.cost); !power.empty()) row("power", power);
  own_rows(table, use, kEngineFigures);
  row("running", fmt::format("{} mean, {} peak", fixed(use.mean_running, 1),
                             with_separators(use.peak_running)));
  row("waiting", fmt::format("{} mean, {} peak", fixed(use.mean_waiting, 1),
                             with_separators(use.peak_waiting)));
  if (answer.engine.kv_blocks != 0) {  // an encoder has none
    row("KV use", fmt::format("{} mean, {} peak{}", as_percent(use.mean_kv_use),
                              as_percent(use.peak_kv_use), kv_blocks(answer)));
    row("KV empty", empty_slots(use));
  }
  if (use.mean_kv_stranded > 0) {
    row("KV stranded", as_percent(use.mean_kv_stranded) +
                           " mean: free, but in ranges too short for the next request");
  }
  if (can_hit(answer)) row("prefix cache", prefix_hits(use).text + " of prompt tokens");
  if (offloads(answer)) {
    row("host memory", counted(use.offload_hits, "token") + " loaded");
  }
  if (use.mean_acceptance_length > 0) {
    row("drafts", fmt::format("{} accepted, {} tokens per decode", as_percent(use.draft_acceptance),
                              fixed(use.mean_acceptance_length, 2)));
  }
  row("preemptions", fmt::format("{} ({} recomputed)", with_separators(use.preemptions),
                                 counted(use.recomputed_tokens, "token")));
  row("step in progress", as_percent(use.busy_share) + " of the time");
  for (const PoolUtilisation& pool : answer.utilisation) {
    row(answer.utilisation.size() > 1 ? "  of it in pool " + pool.pool : "  of it used",
        fmt::format("{} of the FLOP/s (MFU), {} of the memory bandwidth (MBU)",
                    as_percent(pool.mfu), as_percent(pool.mbu)));
  }
  if (result.goodput_per_s) {
    row("goodput", fmt::format("{} /s ({} of the requests)", fixed(*result.goodput_per_s, 2),
                               as_percent(result.goodput_share.value_or(0))));
  }
  return table;
}

Table stage_table(const SimulationAnswer& answer) {
  Table table{.title = "Stages",
              .columns = {{"Stage", false},
                          {"Requests"},
                          {"Offered/s"},
                          {"Served/s"},
                          {"TTFT p50"},
                          {"TTFT p95"},
                          {"TPOT p50"},
                          {"TPOT p95"},
                          {"ITL p95"},
                          {"E2E p95"}},
              .rows = {}};
  const bool with_goodput = answer.load.goodput_share.has_value();
  if (with_goodput) table.columns.push_back({"Good"});
  auto time = [](const Distribution& d, double value) {
    return d.count == 0 ? "-" : printed::time(Seconds{value});
  };
  for (const StageResult& stage : answer.stages) {
    std::vector<Cell> row = {
        stage.name,
        printed::count(stage.completed),
        stage.offered_rate_per_s > 0 ? printed::fixed(stage.offered_rate_per_s, 2) : "at once",
        printed::fixed(stage.request_rate_per_s, 2),
        time(stage.ttft, stage.ttft.p50),
        time(stage.ttft, stage.ttft.p95),
        time(stage.tpot, stage.tpot.p50),
        time(stage.tpot, stage.tpot.p95),
        time(stage.itl, stage.itl.p95),
        time(stage.e2e, stage.e2e.p95)};
    if (with_goodput) row.push_back(printed::percent(stage.goodput_share.value_or(0)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table replica_table(const SimulationAnswer& answer) {
  Table table{.title = "Replicas",
              .columns = {{"Replica", false},
                          {"Billed"},
                          {"Requests"},
                          {"Prefill tokens"},
                          {"Decode tokens"},
                          {"Steps"},
                          {"In a step"},
                          {"Running mean"},
                          {"KV peak"},
                          {"Preemptions"}},
              .rows = {}};
  if (can_hit(answer)) table.columns.push_back({"Prefix hits"});
  if (answer.load.lost > 0) table.columns.push_back({"Lost"});
  for (const ReplicaResult& replica : answer.replicas) {
    const EngineUse& use = replica.use;
    std::vector<Cell> row = {fmt::format("{} {}", replica.pool, replica.index),
                             printed::time(replica.paid),
                             printed::count(replica.served),
                             printed::count(use.prefill_tokens),
                             printed::count(use.decode_tokens),
                             printed::count(use.steps),
                             printed::percent(use.busy_share),
                             printed::fixed(use.mean_running, 1),
                             printed::percent(use.peak_kv_use),
                             printed::count(use.preemptions)};
    if (can_hit(answer)) row.push_back(prefix_hits(use));
    if (answer.load.lost > 0) row.push_back(printed::count(replica.lost));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table slo_table(const SimulationAnswer& answer) {
  Table table{
      .title = "SLO",
      .columns = {{"Class", false}, {"Target", false}, {"Achieved"}, {"Within"}, {"", false}},
      .rows = {}};
  const bool grows = answer.saturation.saturated;
  for (const TargetOutcome& outcome : answer.slo.targets) {
    const PercentileTarget& target = outcome.target;
    table.rows.push_back({outcome.slo_class, words_of(target),
                          grows && figure_of(target.metric).waits ? "grows without bound"
                          : outcome.achieved > 0 ? printed::time(Seconds{outcome.achieved})
                                                 : "-",
                          printed::percent(outcome.attainment),
                          !outcome.judged ? "not judged"
                          : outcome.met   ? "met"
                          : outcome.achieved > 0 && outcome.achieved <= target.limit.value
                              ? "missed by requests that are not served"
                              : "missed"});
  }
  return table;
}

std::string capitalised(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z')
    sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  return sentence;
}

/// "The SLO is met (probability 97.3 %)." "The SLO is not met: ... (probability of meeting it 3
/// %)."
std::string probable(const std::string& sentence, const SimulatedSlo& slo) {
  if (!slo.probability) return sentence + ".";
  return fmt::format("{} ({} {}).", sentence,
                     slo.met.value_or(false) ? "probability" : "probability of meeting it",
                     as_probability(*slo.probability));
}

/// One line each: whether anything is served, the SLO holds, and the engine keeps up.
std::vector<std::string> verdict(const SimulationAnswer& answer) {
  const LoadResult& load = answer.load;
  std::vector<std::string> lines;
  if (load.completed == 0 && load.rejected > 0 && load.unfinished == 0) {
    lines.push_back(fmt::format("Nothing is served: {} rejected.",
                                load.rejected == 1
                                    ? "the only request is"
                                    : "all " + counted(load.rejected, "request") + " are"));
  }
  if (answer.stopped) {
    lines.emplace_back("Stopped early: neither the SLO nor saturation is judged.");
    return lines;
  }
  if (!answer.slo.targets.empty()) {
    const std::string& why = answer.slo.why_not;
    lines.push_back(
        answer.slo.met.value_or(false)
            ? probable(answer.slo.undecided
                           ? "The SLO is met by these requests, which are too few to be sure"
                           : "The SLO is met",
                       answer.slo)
            : probable("The SLO is not met" + (why.empty() ? why : ": " + why), answer.slo));
  }
  // Where the backlog is undecided, the lines below say so.
  if (answer.slo.undecided && !answer.saturation.undecided) {
    lines.push_back(capitalised(*answer.slo.undecided) + ".");
  }
  lines.push_back(capitalised(answer.saturation.reason()) + ".");
  return lines;
}

/// Requests that were not served, and figures that are not reported.
std::vector<std::string> left_out(const SimulationAnswer& answer) {
  std::vector<std::string> lines = answer.unserved;
  if (answer.workload.requests_unreported > 0) {
    lines.push_back("warm-up: " + counted(answer.workload.requests_unreported, "request") +
                    ", left out of everything below except the engine's counts");
  }
  return lines;
}

}  // namespace

std::vector<Section> simulation_sections(const SimulationAnswer& answer) {
  if (!answer.fits) {
    return {{.heading = answer.headline,
             .lines = {answer.reason.value_or("") + ".",
                       "roofcast memory shows every term, and changes that would make it fit."},
             .table = {}}};
  }
  Section head{.heading = answer.headline, .lines = {}, .table = {}};
  if (answer.load.completed > 0) {
    head.table = latency_table(answer);
    head.spreadsheet = plain_latency_table(answer);
  }
  head.lines.push_back(answer.workload.description);
  for (const auto& lines : {answer.workload.notes, left_out(answer), verdict(answer),
                            precision_note(answer.load), interval_note(answer)}) {
    head.lines.insert(head.lines.end(), lines.begin(), lines.end());
  }
  std::vector<Section> sections{std::move(head)};
  auto add = [&](Table table, Table spreadsheet = {}) {
    sections.push_back({.heading = "",
                        .lines = {},
                        .table = std::move(table),
                        .spreadsheet = std::move(spreadsheet)});
  };
  if (!answer.stages.empty()) add(stage_table(answer));
  add(load_table(answer), plain_load_table(answer));
  if (!answer.replicas.empty()) add(replica_table(answer));
  if (!answer.slo.targets.empty()) add(slo_table(answer));
  if (!answer.notes.empty()) {
    sections.push_back({.heading = "Notes", .lines = answer.notes, .table = {}});
  }
  return sections;
}

}  // namespace roofcast
