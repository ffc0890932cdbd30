// roofcast trace: writes a synthetic workload, or one like a server's metrics, as a trace file, or
// describes a trace.
#include <algorithm>
#include <fstream>
#include <ostream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/numbers.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/spelling.hpp"
#include "planner/flags/flag_values.hpp"
#include "planner/flags/idle_flags.hpp"
#include "reports/importers/metric_rows.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/io/trace_writer.hpp"
#include "simulator/results/figures.hpp"
#include "validate/observed_workload.hpp"

namespace roofcast {
namespace {

struct LengthSummary {
  std::int64_t total = 0;
  std::int64_t longest = 0;
};

LengthSummary summarise(const Workload& workload, std::int64_t Request::*length) {
  LengthSummary summary;
  for (const Request& request : workload.requests) {
    summary.total += request.*length;
    summary.longest = std::max(summary.longest, request.*length);
  }
  return summary;
}

Document trace_document(const Workload& workload, const std::string& path) {
  const auto count = static_cast<std::int64_t>(workload.requests.size());
  const LengthSummary input = summarise(workload, &Request::input_tokens);
  const LengthSummary output = summarise(workload, &Request::output_tokens);
  const double span = to_seconds(last_arrival(workload)).value;
  Document document{.machine = envelope("trace", {{"out", path}}), .sections = {}};
  document.machine["requests"] = count;
  document.machine["span_s"] = span;
  document.machine["input_tokens_total"] = input.total;
  document.machine["input_tokens_max"] = input.longest;
  document.machine["output_tokens_total"] = output.total;
  document.machine["output_tokens_max"] = output.longest;
  document.machine["notes"] = workload.notes;
  Table table{.title = "", .columns = {{"", false}, {"Mean"}, {"Longest"}, {"Total"}}, .rows = {}};
  auto row = [&](const std::string& name, const LengthSummary& lengths) {
    table.rows.push_back(
        {name, printed::fixed(static_cast<double>(lengths.total) / static_cast<double>(count), 1),
         printed::count(lengths.longest), printed::count(lengths.total)});
  };
  row("input tokens", input);
  row("output tokens", output);
  std::vector<std::string> lines{workload.description};
  lines.insert(lines.end(), workload.notes.begin(), workload.notes.end());
  document.sections.push_back({.heading = path, .lines = lines, .table = std::move(table)});
  return document;
}

/// Latencies that the server measured under this load.
Section measured_section(const MeasuredRun& run) {
  Table table{
      .title = "", .columns = {{"", false}, {"Mean"}, {"p50"}, {"p95"}, {"p99"}}, .rows = {}};
  for (const LatencyFigure& latency : kTargetLatencies) {
    if (!find_metric(run, latency.name, "mean")) continue;
    std::vector<Cell> row{latency.title};
    for (const char* statistic : {"mean", "p50", "p95", "p99"}) {
      const auto value = find_metric(run, latency.name, statistic);
      row.push_back(value ? printed::time(Seconds{*value}) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return {.heading = "Measured under this load", .lines = run.warnings, .table = std::move(table)};
}

nlohmann::json measured_json(const MeasuredRun& run) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MetricRow& metric : run.metrics) {
    rows.push_back(
        {{"metric", metric.name}, {"statistic", metric.statistic}, {"value", metric.value}});
  }
  return rows;
}

/// The load that a server's metrics counted. Of other flags of a load lengths alone go with it,
/// where the metrics have no histograms of them.
ObservedLoad observed_load(const std::string& path, const WorkloadOptions& options) {
  WorkloadOptions others = options;
  others.input.reset();
  others.output.reset();
  if (options.trace || is_synthetic(others)) {
    throw UsageError(
        "--from-prometheus: the load is what the metrics counted, so of the flags of a load only "
        "--seed goes with it, and --input-len and --output-len without histograms of lengths");
  }
  ByteSource bytes(path);
  ObservedLoad load = read_observed_load(bytes);
  if (load.has_lengths() && (options.input || options.output)) {
    throw UsageError(
        "--from-prometheus: the metrics have histograms of lengths, so --input-len and "
        "--output-len change nothing");
  }
  return load;
}

/// Writes the trace and notes what the file does not keep.
void write_file(Workload& workload, const std::string& path) {
  std::ofstream file(path);
  if (!file) throw Error(path + ": cannot be written");
  const bool lines = path.ends_with(".jsonl");
  lines ? write_trace_jsonl(workload, file) : write_trace_csv(workload, file);
  const auto lost = lines ? lost_in_jsonl(workload) : lost_in_csv(workload);
  workload.notes.insert(workload.notes.end(), lost.begin(), lost.end());
  file.flush();
  if (!file) throw Error(path + ": written incompletely (disk full?)");
}

}  // namespace

int run_trace(CommandContext& context) {
  WorkloadOptions options;
  std::string path;
  std::string prometheus;
  Usage usage{.synopsis = "roofcast trace --out FILE [options]",
              .example =
                  "roofcast trace --out demo.csv --request-rate 4 --input-len lognormal:800:0.9 "
                  "--seed 1",
              .options = option_group("File"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("out", po::value(&path)->value_name("FILE"),
                              "trace file to write: CSV, or Mooncake's JSONL for .jsonl");
  usage.options.add_options()(
      "from-prometheus", po::value(&prometheus)->value_name("FILE"),
      "a load like the one that a vLLM, SGLang or TensorRT-LLM server counted: "
      "Prometheus's answer of query_range "
      "to its counters");
  usage.options.add(synthetic_options(options))
      .add(load_shape_options(options.shape))
      .add(trace_options(options))
      .add(trace_form_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  std::optional<ObservedLoad> observed;
  if (!prometheus.empty()) observed = observed_load(prometheus, options);
  Scenario scenario;
  apply(options, scenario);
  if (!observed) refuse_idle_flags(options, scenario.workload);
  std::vector<std::string> inputs = input_files(scenario);
  if (observed) inputs.push_back(prometheus);
  if (!path.empty()) check_not_among(path, "--out", inputs);
  Workload workload = observed ? workload_of(*observed, scenario.seed,
                                             {.input = options.input, .output = options.output})
                               : load_workload(scenario);
  if (!path.empty()) write_file(workload, path);
  Document document = trace_document(workload, path.empty() ? "trace" : path);
  if (observed) {
    document.machine["measured"] = measured_json(observed->measured);
    document.sections.push_back(measured_section(observed->measured));
  }
  print(document, common->output, context);
  return kExitDone;
}

}  // namespace roofcast
