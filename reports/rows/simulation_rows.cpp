#include "reports/rows/simulation_rows.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/numbers.hpp"
#include "base/version.hpp"
#include "model/io/engine_profile.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/pool_description.hpp"
#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/trace_reader.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/results/request_tally.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

void add_distribution(std::vector<MetricRow>& rows, const std::string& name,
                      const Distribution& d) {
  if (d.count == 0) return;
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.in_tables) rows.push_back({name, statistic.name, d.*statistic.value});
  }
}

/// One row, or one per pool if they differ.
void add_kv_blocks(std::vector<MetricRow>& rows, const std::vector<PoolRun>& pools) {
  const bool alike = are_alike(pools);
  for (const PoolRun& pool : pools) {
    rows.push_back({"kv_blocks", alike ? "value" : "pool " + pool.name,
                    static_cast<double>(pool.plan.kv_blocks)});
    if (alike) return;
  }
}

void add_utilisation(std::vector<MetricRow>& rows, const std::vector<PoolRun>& pools) {
  for (const PoolRun& pool : pools) {
    const std::string statistic = pools.size() == 1 ? "value" : "pool " + pool.name;
    if (pool.mfu) rows.push_back({"mfu", statistic, *pool.mfu});
    if (pool.mbu) rows.push_back({"mbu", statistic, *pool.mbu});
  }
}

std::optional<double> when(Nanoseconds time) {
  if (time == kNever) return std::nullopt;
  return to_seconds(time).value;
}

std::string class_name(const SimulationRun& run, std::int32_t slo_class) {
  const auto& names = run.workload.class_names;
  const auto index = static_cast<std::size_t>(slo_class);
  return index < names.size() ? names[index] : "";
}

std::vector<RequestRow> request_rows(const SimulationRun& run) {
  std::vector<RequestRow> rows;
  rows.reserve(run.result.requests.size());
  for (const RequestRecord& record : run.result.requests) {
    if (!has_arrived(record)) continue;
    rows.push_back({.index = &record - run.result.requests.data(),
                    .arrival_s = to_seconds(record.request.arrival).value,
                    .sent_s = when(record.sent),
                    .scheduled_s = when(record.scheduled),
                    .first_token_s = when(record.first_token),
                    .finished_s = when(record.finished),
                    .input_tokens = record.request.input_tokens,
                    .output_tokens = record.request.output_tokens,
                    .preemptions = record.preemptions,
                    .slo_class = class_name(run, record.request.slo_class)});
  }
  return rows;
}

/// Simulated times are whole nanoseconds: nine decimals are exact.
std::string exact_seconds(Nanoseconds time, const char* absent) {
  if (time == kNever) return absent;
  return fmt::format("{}.{:09}", time / kSecond, time % kSecond);
}

/// A turn of a session that was never created has no arrival time.
Nanoseconds arrival_of(const RequestRecord& record) {
  return has_arrived(record) ? record.request.arrival : kNever;
}

const char* outcome_of(const RequestRecord& record) {
  if (record.finished != kNever) return "completed";
  if (record.rejected) return "rejected";
  return record.lost ? "lost" : "unfinished";
}

std::string replica_of(const RequestRecord& record, const char* absent) {
  return record.replica < 0 ? absent : std::to_string(record.replica);
}

void write_csv_row(std::ostream& out, std::size_t index, const RequestRecord& record,
                   const std::string& slo_class) {
  out << index << ',' << exact_seconds(arrival_of(record), "") << ','
      << exact_seconds(record.sent, "") << ',' << exact_seconds(record.scheduled, "") << ','
      << exact_seconds(record.first_token, "") << ',' << exact_seconds(record.finished, "") << ','
      << record.request.input_tokens << ',' << record.request.output_tokens << ','
      << record.preemptions << ',' << quoted_csv(slo_class) << ',' << record.request.stage << ','
      << replica_of(record, "") << ',' << record.cached_tokens << ',' << outcome_of(record) << '\n';
}

/// JSON text for any bytes in a trace's name.
std::string name_json(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_jsonl_row(std::ostream& out, std::size_t index, const RequestRecord& record,
                     const std::string& slo_class) {
  out << "{\"index\":" << index << ",\"arrival_s\":" << exact_seconds(arrival_of(record), "null")
      << ",\"sent_s\":" << exact_seconds(record.sent, "null")
      << ",\"scheduled_s\":" << exact_seconds(record.scheduled, "null")
      << ",\"first_token_s\":" << exact_seconds(record.first_token, "null")
      << ",\"finished_s\":" << exact_seconds(record.finished, "null")
      << ",\"input_tokens\":" << record.request.input_tokens
      << ",\"output_tokens\":" << record.request.output_tokens
      << ",\"preemptions\":" << record.preemptions << ",\"slo_class\":" << name_json(slo_class)
      << ",\"stage\":" << record.request.stage << ",\"replica\":" << replica_of(record, "null")
      << ",\"cached_tokens\":" << record.cached_tokens << ",\"outcome\":\"" << outcome_of(record)
      << "\"}\n";
}

/// ", SLO met"; empty without an SLO.
std::string_view slo_text(const SimulationResult& result) {
  if (result.slo.empty()) return "";
  const SloVerdict verdict = judge(result);
  if (verdict.holds) return ", SLO met";
  return is_undecided(verdict) ? ", SLO undecided" : ", SLO missed";
}

}  // namespace

Scenario with_absolute_paths(Scenario scenario) {
  const std::filesystem::path here = std::filesystem::current_path();
  const auto make_absolute = [&](std::string& path) {
    path = (here / path).lexically_normal().string();
  };
  const auto is_profile = [](const std::string& gpu) { return gpu.ends_with(".json"); };
  if (auto* trace = std::get_if<TraceWorkload>(&scenario.workload)) {
    trace->hash = trace_hash(*trace);
    if (!trace->bytes) make_absolute(trace->path);
  } else {
    resolve_length_files(std::get<SyntheticWorkload>(scenario.workload), here);
  }
  std::error_code failure;  // a model that is not a path is a name
  if (std::filesystem::exists(scenario.deployment.model, failure))
    make_absolute(scenario.deployment.model);
  const auto make_profiles_absolute = [&](DeploymentOptions& options) {
    if (is_profile(options.gpu)) make_absolute(options.gpu);
    if (is_engine_profile_path(options.engine)) make_absolute(options.engine);
  };
  make_profiles_absolute(scenario.deployment);
  if (!scenario.cluster) return scenario;
  for (PoolScenario& pool : scenario.cluster->pools) make_profiles_absolute(pool.own);
  return scenario;
}

std::vector<MetricRow> simulation_metrics(const SimulationRun& run) {
  std::vector<MetricRow> rows;
  for (const StoredFigure& figure : stored_figures(run.result)) {
    if (figure.value) rows.push_back({figure.name, "value", *figure.value});
  }
  add_kv_blocks(rows, run.pools);
  add_utilisation(rows, run.pools);
  for (const LatencyFigure& latency : kLatencyFigures) {
    add_distribution(rows, latency.name, run.result.*latency.distribution);
  }
  return rows;
}

std::vector<MetricRow> cost_metrics(const SimulationRun& run) {
  const ServingCost cost = cost_of(run.pools, run.result);
  std::vector<MetricRow> rows;
  for (const CostFigure& figure : kCostFigures) {
    if (const auto& value = cost.*figure.value) rows.push_back({figure.name, "value", *value});
  }
  return rows;
}

Run simulation_row(const SimulationRun& run, const std::string& command_line, bool keep_requests) {
  const SimulationResult& result = run.result;
  Run row;
  row.row = {
      .id = 0,
      .kind = "simulate",
      .created_at = utc_now(),
      .tool_version = kVersion,
      .command_line = command_line,
      .model = run.pools.front().deployment.model.name,
      .gpu = gpus_of(run.pools),
      .engine = engines_of(run.pools),
      .scenario_json = to_json(with_absolute_paths(run.scenario)),
      .profile_hash = profile_hashes_of(run.pools),
      .seed = run.scenario.seed,
      .summary = fmt::format("{} requests, {} req/s, TTFT p95 {}, TPOT p95 {}{}",
                             with_separators(result.completed), fixed(result.request_rate_per_s, 2),
                             as_time(Seconds{result.ttft.p95}), as_time(Seconds{result.tpot.p95}),
                             slo_text(result))};
  row.metrics = simulation_metrics(run);
  if (keep_requests) row.requests = request_rows(run);
  return row;
}

void write_requests(const SimulationRun& run, const std::string& path) {
  std::ofstream out(path);
  if (!out) throw Error(path + ": cannot be written");
  const bool lines = path.ends_with(".jsonl");
  if (!lines) {
    out << "index,arrival_s,sent_s,scheduled_s,first_token_s,finished_s,input_tokens,"
           "output_tokens,preemptions,slo_class,stage,replica,cached_tokens,outcome\n";
  }
  const std::vector<RequestRecord>& records = run.result.requests;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string slo_class = class_name(run, records[i].request.slo_class);
    lines ? write_jsonl_row(out, i, records[i], slo_class)
          : write_csv_row(out, i, records[i], slo_class);
  }
  out.flush();
  if (!out) throw Error(path + ": written incompletely (disk full?)");
}

}  // namespace roofcast
