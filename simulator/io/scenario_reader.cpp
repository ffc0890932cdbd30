#include "simulator/io/scenario_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/csv.hpp"
#include "base/io/named_pipe.hpp"
#include "simulator/io/json_object.hpp"
#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/optional_keys.hpp"
#include "simulator/io/scenario_cluster.hpp"
#include "simulator/io/scenario_keys.hpp"
#include "simulator/io/synthetic_reader.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr int kMaxRanks = 65'536;
constexpr std::size_t kLargestFile = std::size_t{16} << 20;  // 16 MiB

int degree(const JsonObject& object, const char* key) {
  return static_cast<int>(object.integer(key, 1, kMaxRanks).value_or(1));
}

}  // namespace

Parallelism read_parallel(const JsonObject& object) {
  return {.tensor = degree(object, "tensor"),
          .pipeline = degree(object, "pipeline"),
          .data = degree(object, "data"),
          .expert_parallel = object.boolean("expert").value_or(false)};
}

namespace {

TraceColumnNames read_trace_columns(const JsonObject& object) {
  TraceColumnNames names;
  set(names.time, object.text("time"));
  set(names.input, object.text("input"));
  set(names.output, object.text("output"));
  set(names.slo_class, object.text("class"));
  set(names.priority, object.text("priority"));
  set(names.session, object.text("session"));
  set(names.delay, object.text("delay"));
  set(names.hash_ids, object.text("hash_ids"));
  return names;
}

/// Reads how the trace is written: format and time_unit, which accept fixed names.
void read_trace_form(const JsonObject& object, TraceWorkload& workload) {
  if (const auto text = object.text("format")) {
    const auto format = parse_trace_format(*text);
    if (!format) object.fail("format", "auto, csv, jsonl or bench");
    workload.format = *format;
  }
  if (const auto text = object.text("time_unit")) {
    workload.time_unit = parse_trace_time_unit(*text);
    if (!workload.time_unit) object.fail("time_unit", "s, ms, us or ns");
  }
  if (const auto columns = object.object("columns", scenario_keys::kTraceColumns)) {
    workload.columns = read_trace_columns(*columns);
  }
  workload.block_size = object.integer("trace_block_size", 1, kLargestTraceBlock);
}

TraceWorkload read_trace_workload(const JsonObject& object) {
  TraceWorkload workload;
  const auto path = object.text("path");
  if (!path || path->empty()) object.fail_missing("path", "the path of a trace");
  workload.path = *path;
  set(workload.max_requests, object.integer("max_requests", 0, kAnyInteger));
  set(workload.time_scale, object.number("time_scale", 0));
  workload.rate_scale = object.number("rate_scale", 0);
  workload.request_rate = object.number("request_rate", 0);
  set(workload.skip_bad_rows, object.boolean("skip_bad_rows"));
  set(workload.drop_failed, object.boolean("drop_failed"));
  read_trace_form(object, workload);
  return workload;
}

WorkloadSpec read_workload(const JsonObject& top) {
  const auto* json = top.find("workload");
  if (json == nullptr) top.fail_missing("workload", "an object with type synthetic or trace");
  if (!json->is_object() || !json->contains("type")) {
    top.fail("workload", "an object with type synthetic or trace");
  }
  const auto& type = (*json)["type"];
  if (type == "synthetic")
    return read_synthetic(*top.object("workload", scenario_keys::kSynthetic));
  if (type == "trace") return read_trace_workload(*top.object("workload", scenario_keys::kTrace));
  top.fail("workload", "type synthetic or trace");
}

LatencyMetric read_metric(const JsonObject& object) {
  const auto text = object.text("metric");
  if (!text) object.fail_missing("metric", "ttft, tpot, itl or e2e");
  const auto metric = parse_latency_metric(*text);
  if (!metric) object.fail("metric", "ttft, tpot, itl or e2e");
  return *metric;
}

Seconds read_limit(const JsonObject& object) {
  const auto limit = object.number("limit_s", 0);
  if (!limit) object.fail_missing("limit_s", "a limit in seconds");
  return Seconds{*limit};
}

PercentileTarget read_target(const JsonObject& object) {
  PercentileTarget target{.metric = read_metric(object), .limit = read_limit(object)};
  set(target.percentile, object.number("percentile", 0));
  if (target.percentile >= 100) object.fail("percentile", "a number above 0 and below 100");
  return target;
}

std::vector<PercentileTarget> read_targets(const JsonObject& object) {
  std::vector<PercentileTarget> targets;
  for (const JsonObject& target : object.objects("targets", scenario_keys::kTarget)) {
    targets.push_back(read_target(target));
  }
  return targets;
}

std::vector<SloClass> read_classes(const JsonObject& slo) {
  std::vector<SloClass> classes;
  const auto objects = slo.objects("classes", scenario_keys::kClass);
  double sum = 0;
  for (const JsonObject& object : objects) {
    SloClass slo_class;
    const auto name = object.text("name");
    if (!name || name->empty()) object.fail_missing("name", "the name of the class");
    if (!fits_in_row(*name)) object.fail("name", "a name without control characters");
    slo_class.name = *name;
    const bool repeated = std::any_of(classes.begin(), classes.end(),
                                      [&](const SloClass& c) { return c.name == *name; });
    if (repeated) object.fail("name", "a name that no other class has");
    const double equal_share = 1.0 / static_cast<double>(objects.size());
    slo_class.share = object.fraction("share").value_or(equal_share);
    sum += slo_class.share;
    slo_class.targets = read_targets(object);
    classes.push_back(std::move(slo_class));
  }
  constexpr double kRounding = 1e-6;  // allows shares such as 0.333333, rounded by hand
  if (!classes.empty() && std::abs(sum - 1) > kRounding * static_cast<double>(classes.size())) {
    slo.fail("classes", fmt::format("shares that sum to 1, not {}", sum));
  }
  return classes;
}

Slo read_slo(const JsonObject& object) {
  Slo slo;
  for (const JsonObject& limit : object.objects("goodput", scenario_keys::kGoodput)) {
    slo.goodput.push_back({.metric = read_metric(limit), .limit = read_limit(limit)});
  }
  slo.targets = read_targets(object);
  slo.classes = read_classes(object);
  return slo;
}

Scenario read_top(const JsonObject& top) {
  if (top.integer("schema_version", 0, kAnyInteger).value_or(kSchemaVersion) != kSchemaVersion) {
    top.fail("schema_version", fmt::format("{}", kSchemaVersion));
  }
  top.text("$schema");
  Scenario scenario;
  set(scenario.name, top.text("name"));
  set(scenario.model, top.text("model"));
  set(scenario.gpu, top.text("gpu"));
  if (scenario.model.empty()) top.fail_missing("model", "a model's name or path");
  if (scenario.gpu.empty()) top.fail_missing("gpu", "a GPU's name");
  set(scenario.engine, top.text("engine"));
  scenario.weight_format = top.text("quantization");
  if (const auto parallel = top.object("parallel", scenario_keys::kParallel)) {
    scenario.parallel = read_parallel(*parallel);
  }
  if (const auto options = top.object("engine_options", engine_option_keys())) {
    scenario.overrides = read_engine_options(*options);
  }
  if (const auto cluster = top.object("cluster", scenario_keys::kCluster)) {
    scenario.cluster = read_cluster(*cluster);
  }
  scenario.workload = read_workload(top);
  scenario.max_concurrency = top.integer("max_concurrency", 1, kAnyInteger);
  if (const auto slo = top.object("slo", scenario_keys::kSlo)) scenario.slo = read_slo(*slo);
  set(scenario.seed, top.unsigned_integer("seed"));
  return scenario;
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  try {
    return parse_bounded<nlohmann::json>(text, where, RepeatedKeys::refused);
  } catch (const nlohmann::json::exception& error) {  // parse_error, out_of_range
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    const std::size_t label = what.find("] ");
    throw Error(fmt::format("{}: is not JSON: {}", where,
                            label == std::string::npos ? what : what.substr(label + 2)));
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  return read_top(JsonObject(json, where, "", scenario_keys::kTop));
}

Scenario read_scenario(const std::string& path) {
  refuse_named_pipe(path);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw Error(fmt::format("{}: cannot be read, expected a scenario file", path));
  }
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) {
    throw Error(fmt::format("{}: is larger than 16 MiB, expected a scenario file", path));
  }
  Scenario scenario = parse_scenario(text, path);
  resolve_workload_files(scenario, std::filesystem::path(path).parent_path());
  return scenario;
}

void resolve_workload_files(Scenario& scenario, const std::filesystem::path& folder) {
  if (auto* trace = std::get_if<TraceWorkload>(&scenario.workload)) {
    trace->path = (folder / trace->path).lexically_normal().string();
  } else {
    resolve_length_files(std::get<SyntheticWorkload>(scenario.workload), folder);
  }
}

}  // namespace roofcast
