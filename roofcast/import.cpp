#include "roofcast/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "base/wording.hpp"
#include "calibrate/packing/pack_tables.hpp"
#include "calibrate/packing/thinning.hpp"
#include "calibrate/tables/aiconfigurator.hpp"
#include "calibrate/tables/import_profile.hpp"
#include "calibrate/tables/llmservingsim.hpp"
#include "calibrate/tables/other_tables.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/measured_reader.hpp"
#include "model/io/model_reader.hpp"
#include "reports/importers/metric_rows.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {

// ---- the record of runs

namespace {

/// A rate in requests/s; infinite: "inf".
struct RequestRate {
  double per_s = 0;
};

/// JSON texts by key.
struct OtherSettings {
  std::map<std::string, std::string> texts{};
};

}  // namespace

template <>
Json value_to_json<RequestRate>(const RequestRate& value) {
  return std::isinf(value.per_s) ? Json("inf") : Json(value.per_s);
}

template <>
void value_from_json<RequestRate>(const Json& json, RequestRate& value, const std::string& path) {
  value.per_s = HUGE_VAL;
  if (json != "inf") value_from_json(json, value.per_s, path);
}

template <>
Json value_schema<RequestRate>() {
  return {{"anyOf", {{{"type", "number"}}, {{"enum", Json::array({"inf"})}}}}};
}

/// Appends without a search, since keys are unique already: searching is quadratic in their number,
/// and a result may have millions.
template <>
Json value_to_json<OtherSettings>(const OtherSettings& value) {
  Json json = Json::object();
  auto& members = json.get_ref<Json::object_t&>();
  members.reserve(value.texts.size());
  for (const auto& [key, text] : value.texts) members.emplace_back(key, Json::parse(text));
  return json;
}

template <>
void value_from_json<OtherSettings>(const Json& json, OtherSettings& value,
                                    const std::string& path) {
  if (!json.is_object()) record_detail::refuse(path, "an object");
  for (const auto& [key, member] : json.items()) value.texts[key] = member.dump();
}

template <>
Json value_schema<OtherSettings>() {
  return {{"type", "object"}};
}

namespace {

/// A text that is left out if empty.
template <class Visitor>
void visit_text(Visitor& visit, const char* key, std::string& text, const char* meaning) {
  std::optional<std::string> said;
  if (!text.empty()) said = text;
  visit.if_set(key, said, meaning);
  if (text != said.value_or("")) text = said.value_or("");  // a writer changes nothing
}

}  // namespace

template <class Visitor>
void members(Visitor& visit, MeasuredSetting& setting) {
  std::optional<RequestRate> rate;
  if (setting.request_rate_per_s) rate = {*setting.request_rate_per_s};
  std::optional<OtherSettings> other;
  if (!setting.other.empty()) other = {setting.other};
  visit_text(visit, "model", setting.model, "as the file spells it");
  visit_text(visit, "gpu", setting.gpu, "as the file spells it");
  visit_text(visit, "engine", setting.engine, "vllm, sglang, ...");
  visit_text(visit, "engine_version", setting.engine_version, "0.19.0");
  visit_text(visit, "quantization", setting.quantization, "of the weights");
  visit.if_set("tensor", setting.tensor, "tensor parallelism");
  visit.if_set("pipeline", setting.pipeline, "pipeline stages");
  visit.if_set("data", setting.data, "data-parallel ranks");
  visit.if_set("gpus", setting.gpus, "all of them");
  visit.if_set("request_rate", rate, "requests a second; inf: all at once");
  visit.if_set("max_concurrency", setting.max_concurrency, "requests in flight");
  visit.if_set("requests", setting.requests, "asked for");
  visit.if_set("mean_input_tokens", setting.mean_input_tokens, "of a request");
  visit.if_set("mean_output_tokens", setting.mean_output_tokens, "of a request");
  visit.if_set("other", other, "what else the file says, under its own keys");
  // A writer changes nothing: what it writes may be const.
  const std::optional<double> rate_per_s = rate ? std::optional<double>(rate->per_s) : std::nullopt;
  if (setting.request_rate_per_s != rate_per_s) setting.request_rate_per_s = rate_per_s;
  if (!other) other.emplace();
  if (setting.other != other->texts) setting.other = std::move(other->texts);
}

template <class Visitor>
void members(Visitor& visit, MetricRow& metric) {
  visit("name", metric.name, "as the store names it");
  visit("statistic", metric.statistic, "value, mean or a percentile");
  visit("value", metric.value, "in the unit that ends the name");
}

template <class Visitor>
void members(Visitor& visit, ImportedRun& imported) {
  MeasuredRun& run = imported.run;
  visit("id", imported.id, "in the store; null: not stored");
  visit("origin", run.origin, "the file, and the place in it");
  visit("format", run.format, "of the file");
  visit("created_at", run.created_at, "ISO 8601, UTC; empty: not said");
  visit("setting", run.setting, "what it ran on and under which load, as far as the file says");
  visit("metrics", run.metrics, "measured");
  visit("requests", imported.requests, "with a record of their own");
  visit("warnings", run.warnings, "figures that contradict each other, for people");
}

template <class Visitor>
void members(Visitor& visit, ImportInputs& inputs) {
  visit("paths", inputs.paths, "files and folders");
  visit("meta", inputs.meta, "what the files do not say");
  visit.if_set("store", inputs.store, "where the runs are kept");
}

template <class Visitor>
void members(Visitor& visit, ImportAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question");
  visit("runs", answer.runs, "in the order of the paths");
}

// ---- the record of tables

template <class Visitor>
void members(Visitor& visit, TablesInputs& inputs) {
  visit("files", inputs.files, "tables and profiler folders");
  visit("gpu", inputs.gpu, "they were measured on");
  visit("out", inputs.out, "the profile");
}

template <class Visitor>
void members(Visitor& visit, UnusedRows& left_out) {
  visit("reason", left_out.reason, "why they are not used");
  visit("rows", left_out.rows, "how many");
  visit("first", left_out.first, "places of a few");
}

template <class Visitor>
void members(Visitor& visit, TableRows& table) {
  visit("file", table.file, "without its folders");
  visit("kind", table.kind, "of its rows");
  visit("rows", table.rows, "read");
  visit("duplicates", table.duplicates, "of them, that another row has the time of");
  visit("refused", table.refused, "of them, impossible or unreadable");
  visit("unused", table.unused, "of them, not usable here; the others are points");
}

template <class Visitor>
void members(Visitor& visit, UnknownTable& unknown) {
  visit("file", unknown.file, "in a folder of tables");
  visit("problem", unknown.problem, "why it was passed over");
}

template <class Visitor>
void members(Visitor& visit, TablesFamily& family) {
  visit_family(visit, family, false);
}

template <class Visitor>
void members(Visitor& visit, TablesAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  visit("rows", answer.rows, "read");
  visit("curves", answer.curves, "of the profile");
  visit("points", answer.points, "of its curves");
  visit("rows_of_mixed_calls", answer.mixed, "prefill and decode in one call");
  visit("duplicates", answer.duplicates, "rows that another row has the time of");
  visit("refused", answer.refused, "rows that are impossible or unreadable");
  visit("unused", answer.unused, "rows that are not usable here");
  visit("tables", answer.tables, "what became of the rows of each file");
  visit("unknown", answer.unknown, "tables in a folder that were passed over");
  visit("families", answer.families, "errors of points answered from the others of their curve");
}

namespace {

constexpr const char* kRuns = "runs import";
constexpr const char* kTables = "profile import";

// ---- runs

std::string summary_of(const MeasuredRun& run) {
  std::string text = run.format;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format(", {} {}", name, value);
  };
  add("requests/s", rate_cell(run, "request_rate_per_s", 2));
  add("TTFT", latency_cell(run, "ttft_s"));
  add("TPOT", latency_cell(run, "tpot_s"));
  add("E2E", latency_cell(run, "e2e_s"));
  add("output tokens/s", rate_cell(run, "output_tokens_per_s", 0));
  add("KV tokens", rate_cell(run, "kv_tokens", 0));
  return text;
}

/// Reads one file or folder into the answer.
void read_path(const std::string& path, const ImportOptions& options, ImportAnswer& answer) {
  FolderReading reading = read_folder(path, options);
  for (const BrokenFile& broken : reading.broken) answer.problems.push_back(broken.problem);
  if (const std::string note = passed_over_note(reading); !note.empty()) {
    answer.notes.push_back(note);
  }
  if (reading.broken.empty() && reading.runs.empty()) {
    answer.problems.push_back(path + ": contains no result of a known format (`format`: " +
                              joined(measured_formats()) + ")");
  }
  for (MeasuredRun& run : reading.runs) {
    answer.runs.push_back({.run = std::move(run)});
    answer.runs.back().requests = std::ssize(answer.runs.back().run.requests);
  }
}

// ---- tables

namespace fs = std::filesystem;

bool is_table(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

/// The N of a profiler folder tpN; 0 for any other.
std::int64_t tensor_parallel_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with("tp")) return 0;
  const std::int64_t degree = to_number<std::int64_t>(name.substr(2)).value_or(0);
  return degree > 0 && degree <= kMaxDegree ? degree : 0;
}

bool is_profiler_folder(const fs::path& folder) {
  return tensor_parallel_of(folder) > 0 && fs::exists(folder.parent_path() / "meta.yaml");
}

/// A table or a profiler folder.
struct TableSource {
  fs::path path{};
  bool listed = false;  // found in a folder, not named by the caller
};

/// Tables and profiler folders below `path`, without duplicates, sorted by name.
std::vector<TableSource> sources_at(const std::string& path) {
  if (!fs::exists(path)) throw Error(path + ": no such file or folder");
  if (!fs::is_directory(path)) return {{.path = path}};
  const fs::path top = fs::canonical(path);
  if (is_profiler_folder(top)) return {{.path = top}};
  std::vector<TableSource> found;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    const bool folder = entry.is_directory() && is_profiler_folder(entry.path());
    const bool own = is_profiler_folder(entry.path().parent_path());
    const bool table = entry.is_regular_file() && is_table(entry.path()) && !own;
    if (folder || table) found.push_back({.path = entry.path(), .listed = true});
  }
  if (found.empty()) throw Error(path + ": contains no .csv, .csv.gz or profiler folder");
  std::sort(found.begin(), found.end(),
            [](const TableSource& a, const TableSource& b) { return a.path < b.path; });
  return found;
}

/// The profiled model as one rank of `tensor` runs it on this GPU.
Deployment profiled(const ProfilerMeta& meta, std::int64_t tensor, const Gpu& gpu) {
  Deployment deployment{.model = load_model(meta.model), .gpu = gpu};
  deployment.parallel.tensor = static_cast<int>(tensor);
  check_parallelism(deployment.model, deployment.parallel);
  deployment.engine = resolve_engine("vllm-" + meta.vllm_version, {}, deployment.model,
                                     deployment.gpu, deployment.parallel);
  return deployment;
}

/// Whether that name is a known GPU other than `gpu`.
bool is_other_gpu(const std::string& device, const Gpu& gpu) {
  if (device.empty()) return false;
  try {
    return load_gpu(device).gpu.name != gpu.name;
  } catch (const Error&) {
    return false;
  }
}

void read_source(const fs::path& path, const Gpu& gpu, ImportedRows& rows) {
  if (!fs::is_directory(path)) {
    const auto other = [&](const std::string& device) { return is_other_gpu(device, gpu); };
    if (read_other_table(path.string(), gpu, rows, other)) return;
    return read_aiconfigurator(path.string(), rows, other);
  }
  const ProfilerMeta meta = read_profiler_meta((path.parent_path() / "meta.yaml").string());
  read_llmservingsim(path.string(), meta, profiled(meta, tensor_parallel_of(path), gpu), rows);
}

/// Reads all sources; those of a folder that cannot be read are returned.
std::vector<UnknownTable> read_sources(const std::vector<TableSource>& sources, const Gpu& gpu,
                                       ImportedRows& rows) {
  std::vector<UnknownTable> unknown;
  for (const TableSource& source : sources) {
    try {
      read_source(source.path, gpu, rows);
    } catch (const Error& error) {
      if (!source.listed) throw;
      unknown.push_back({.file = source.path.string(), .problem = error.what()});
    }
  }
  if (rows.rows == 0 && !unknown.empty()) throw Error(unknown.front().problem);
  return unknown;
}

/// Warns about tables of another GPU, which would be used as if they were this one's.
std::vector<std::string> check_devices(const ImportedRows& rows, const Gpu& gpu) {
  std::vector<std::string> warnings;
  for (const auto& [device, count] : rows.devices) {
    std::string name;
    try {
      name = load_gpu(device).gpu.name;
    } catch (const Error&) {
      warnings.push_back(
          fmt::format("the tables name {}, which is not a known GPU; importing as {}", device,
                      gpu.display_name));
      continue;
    }
    if (name != gpu.name) {
      throw Error(
          fmt::format("{} rows were measured on {}, not on {}", count, device, gpu.display_name));
    }
  }
  return warnings;
}

/// Whether the answer goes to kernel tables like those that are built in, not to a profile.
bool is_packed(const std::string& out) { return out.ends_with(".curves"); }

std::string packed_text(const Gpu& gpu) {
  return pack_tables(gpu, {.gpu = gpu.name,
                           .device = gpu.measured->device,
                           .tool = std::string("roofcast ") + kVersion})
      .bytes;
}

/// Thins what a profile cannot hold, and warns of it.
void thin_long_curves(Gpu& gpu, std::vector<std::string>& warnings) {
  std::size_t curves = 0;
  std::size_t left_out = 0;
  double coarsest = 0;
  for (MeasuredCurve& curve : gpu.measured->curves) {
    if (curve.points.size() <= kMaxCurvePoints) continue;
    const std::size_t before = curve.points.size();
    ShortenedCurve kept = with_at_most(curve, kMaxCurvePoints, gpu.multiprocessors);
    coarsest = std::max(coarsest, kept.tolerance);
    curve = std::move(kept.curve);
    ++curves;
    left_out += before - curve.points.size();
  }
  if (curves == 0) return;
  warnings.push_back(fmt::format(
      "{} of {} with more than {} sizes: {} sizes that the others answer within {} are left out",
      curves, counted(std::ssize(gpu.measured->curves), "curve"), kMaxCurvePoints, left_out,
      as_percent(coarsest, 0)));
}

std::string profile_text(const Gpu& gpu, const std::string& out) {
  std::string text = write_gpu(gpu);
  parse_profile(text, out);  // check that it can be read
  return text;
}

std::vector<UnusedRows> unused_rows(const std::map<std::string, LeftOut>& by_reason) {
  std::vector<UnusedRows> list;
  for (const auto& [reason, left_out] : by_reason) list.push_back({left_out, reason});
  return list;
}

TablesAnswer answer_of(TablesInputs inputs, const ImportedRows& rows, const Gpu& gpu) {
  TablesAnswer answer{.head = answer_head(kTables),
                      .inputs = std::move(inputs),
                      .rows = rows.rows,
                      .curves = std::ssize(gpu.measured->curves),
                      .mixed = rows.mixed,
                      .duplicates = unused_rows(rows.duplicates),
                      .refused = unused_rows(rows.refused),
                      .unused = unused_rows(rows.unused),
                      .tables = rows.tables,
                      .gpu_display_name = gpu.display_name};
  for (FamilyError& family : curve_errors(gpu, 0).families) {
    answer.families.push_back({std::move(family)});
  }
  for (const MeasuredCurve& curve : gpu.measured->curves) answer.points += std::ssize(curve.points);
  return answer;
}

}  // namespace

std::string engine_of(const MeasuredSetting& setting) {
  if (setting.engine_version.empty()) return cell_text(setting.engine);
  return cell_text((setting.engine.empty() ? "engine" : setting.engine) + "-" +
                   setting.engine_version);
}

std::string gpu_of(const MeasuredSetting& setting) {
  const auto ways = [](const std::optional<std::int64_t>& number) {
    return static_cast<double>(number.value_or(1));
  };
  const double product = ways(setting.tensor) * ways(setting.pipeline) * ways(setting.data);
  const double count = setting.gpus ? ways(setting.gpus) : product;
  const std::string name = cell_text(setting.gpu);
  return count > 1 ? fmt::format("{} x {}", name, fixed(count, 0)) : name;
}

Run measured_row(const MeasuredRun& run, const std::string& command_line, bool keep_requests) {
  Json scenario = {{"origin", run.origin}, {"format", run.format}};
  scenario["setting"] = value_to_json(run.setting);
  scenario["warnings"] = run.warnings;
  Run row;
  row.row = {.kind = "measured",
             .created_at = run.created_at.empty() ? utc_now() : run.created_at,
             .tool_version = kVersion,
             .command_line = command_line,
             .model = cell_text(run.setting.model),
             .gpu = gpu_of(run.setting),
             .engine = engine_of(run.setting),
             .scenario_json = scenario.dump(-1, ' ', false, Json::error_handler_t::replace),
             .profile_hash = "",
             .summary = summary_of(run)};
  row.metrics = run.metrics;
  if (keep_requests) row.requests = run.requests;
  return row;
}

MeasuredRun stored_measured_run(const Run& run, const std::string& origin) {
  if (run.row.kind != "measured") {
    throw Error(
        fmt::format("{}: is not a measured run but of kind '{}', expected one that "
                    "`roofcast runs import` stored",
                    origin, run.row.kind));
  }
  const Json stored = Json::parse(run.row.scenario_json, nullptr, false);
  if (!stored.is_object() || !stored.contains("setting") || !stored.contains("format")) {
    throw Error(origin + ": its stored setting cannot be read");
  }
  MeasuredRun measured{.origin = origin,
                       .format = stored["format"].get<std::string>(),
                       .created_at = run.row.created_at,
                       .metrics = run.metrics,
                       .requests = run.requests};
  value_from_json(stored["setting"], measured.setting, origin);
  for (const Json& warning : stored.value("warnings", Json::array())) {
    measured.warnings.push_back(warning.get<std::string>());
  }
  return measured;
}

ImportAnswer import_runs(const ImportQuestion& question) {
  ImportAnswer answer{.head = answer_head(kRuns),
                      .inputs = {.paths = question.paths, .meta = question.options.meta}};
  for (const std::string& path : question.paths) {
    try {
      read_path(path, question.options, answer);
    } catch (const UsageError&) {
      throw;  // the question is wrong, whatever the path
    } catch (const Error& error) {
      answer.problems.emplace_back(error.what());
    }
  }
  return answer;
}

Json to_json(const ImportAnswer& answer) { return record_to_json(answer); }

ImportAnswer import_answer_from_json(const Json& json) {
  return answer_from_json<ImportAnswer>(json, kRuns);
}

Json import_answer_schema() {
  return schema_document<ImportAnswer>("What roofcast runs import answers");
}

TablesAnswer import_tables(const TablesQuestion& question) {
  const Gpu known = load_gpu(question.gpu).gpu;
  TablesInputs inputs{.gpu = known.name, .out = question.out};
  if (inputs.out.empty()) inputs.out = known.name + "-imported.json";
  std::vector<TableSource> sources;
  for (const std::string& path : question.paths) {
    for (TableSource& source : sources_at(path)) {
      inputs.files.push_back(source.path.string());
      sources.push_back(std::move(source));
    }
  }
  check_not_among(inputs.out, "`out`", inputs.files);
  check_writable(inputs.out);
  ImportedRows rows;
  std::vector<UnknownTable> unknown = read_sources(sources, known, rows);
  std::vector<std::string> warnings = check_devices(rows, known);
  Gpu gpu =
      import_profile(rows, known, {.date = utc_now(), .tool = std::string("roofcast ") + kVersion});
  if (!is_packed(inputs.out)) thin_long_curves(gpu, warnings);
  write_whole(inputs.out, is_packed(inputs.out) ? packed_text(gpu) : profile_text(gpu, inputs.out));
  TablesAnswer answer = answer_of(std::move(inputs), rows, gpu);
  answer.warnings = std::move(warnings);
  for (const UnknownTable& one : unknown) answer.warnings.push_back("passed over " + one.problem);
  answer.unknown = std::move(unknown);
  return answer;
}

Json to_json(const TablesAnswer& answer) { return record_to_json(answer); }

TablesAnswer tables_answer_from_json(const Json& json) {
  return answer_from_json<TablesAnswer>(json, kTables);
}

Json tables_answer_schema() {
  return schema_document<TablesAnswer>("What roofcast profile import answers");
}

}  // namespace roofcast
