#include "validate/validate_manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/json_reason.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "model/io/json_text.hpp"
#include "reports/importers/importer.hpp"
#include "simulator/io/json_object.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "validate/manifest_rows.hpp"
#include "validate/measured_case.hpp"
#include "validate/measured_deployment.hpp"
#include "validate/measured_load.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::array kTopKeys = {"$schema", "schema_version", "name", "defaults", "cases"};
constexpr std::array kCaseKeys = {"name", "group",    "labels", "source", "ask",  "scenario",
                                  "step", "measured", "rows",   "rules",  "stage"};
constexpr std::array kRuleKeys = {"where",  "columns", "name",     "group", "labels",
                                  "source", "ask",     "scenario", "step",  "measured"};
constexpr std::array kFileKeys = {"file", "format", "run"};
constexpr std::array kRowsKeys = {"file", "columns", "where"};
constexpr std::array kStepKeys = {"prefills", "decode_sequences", "decode_context_tokens"};
constexpr std::array kPrefillKeys = {"new_tokens", "context_tokens", "emits_token"};

constexpr std::int64_t kMaxStages = 1'000'000;
constexpr std::int64_t kMaxStepTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMaxStepSequences = 1 << 20;

/// As JSON, even if a table's fields contain invalid UTF-8.
std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// ---- measured figures

bool has_statistics(const std::string& metric) {
  return is_time(metric) && metric != "step_s" && metric != "makespan_s";
}

/// Parses "63.9 ms" for a time, "12,5" for a plain number. Throws UsageError.
double parse_figure(const std::string& metric, std::string text) {
  std::erase(text, ' ');
  if (is_time(metric)) return parse_time(text, metric).value;
  if (metric.find("_per_s") != std::string::npos) {
    return parse_number_by({.what = "rate per second", .examples = "12.5", .min = 0}, text, metric);
  }
  return parse_number_by({.what = "number", .examples = "2588", .min = 0}, text, metric);
}

double read_figure(const std::string& metric, const json& value, const std::string& place) {
  if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0) {
    return value.get<double>();
  }
  if (!value.is_string()) {
    throw Error(
        fmt::format("{}: is {}, expected a number of at least 0, or a text such as \"5 ms\"", place,
                    shown(json_text(value), 40)));
  }
  try {
    return parse_figure(metric, value.get<std::string>());
  } catch (const UsageError& error) {
    throw Error(fmt::format("{}: {}", place, error.what()));
  }
}

void check_statistic(const std::string& statistic, const std::string& place) {
  const std::vector<std::string>& known = comparable_statistics();
  if (std::find(known.begin(), known.end(), statistic) != known.end()) return;
  throw Error(fmt::format("{}: unknown statistic, expected {} or {}{}", place,
                          fmt::join(known.begin(), known.end() - 1, ", "), known.back(),
                          did_you_mean(statistic, known)));
}

std::vector<MetricRow> read_statistics(const std::string& metric, const json& value,
                                       const std::string& place) {
  std::vector<MetricRow> rows;
  for (const auto& item : value.items()) {
    const std::string at = place + "." + shown(item.key(), 40);
    check_statistic(item.key(), at);
    rows.push_back({metric, item.key(), read_figure(metric, item.value(), at)});
  }
  return rows;
}

std::vector<MetricRow> read_metric(const std::string& metric, const json& value,
                                   const std::string& place) {
  const std::vector<std::string>& known = comparable_metrics();
  if (std::find(known.begin(), known.end(), metric) == known.end()) {
    throw Error(fmt::format("{}: unknown metric{}", place, did_you_mean(metric, known)));
  }
  if (!has_statistics(metric)) return {{metric, "value", read_figure(metric, value, place)}};
  if (value.is_object()) return read_statistics(metric, value, place);
  throw Error(fmt::format("{}: is {}, expected its statistics, such as {{\"mean\": 0.05}}", place,
                          shown(json_text(value), 40)));
}

std::vector<MetricRow> read_measured_figures(const json& measured, const std::string& place) {
  if (!measured.is_object()) throw Error(place + ": expected an object of metrics");
  std::vector<MetricRow> metrics;
  for (const auto& item : measured.items()) {
    const std::vector<MetricRow> rows =
        read_metric(item.key(), item.value(), place + "." + shown(item.key(), 40));
    metrics.insert(metrics.end(), rows.begin(), rows.end());
  }
  if (metrics.empty()) throw Error(place + ": has no metric");
  return metrics;
}

// ---- the question

ValidationAsk read_ask(const JsonObject& object) {
  const std::string text = object.text("ask").value_or("simulate");
  if (text == "simulate") return ValidationAsk::simulate;
  if (text == "step") return ValidationAsk::step;
  if (text == "memory") return ValidationAsk::memory;
  if (text == "saturation") return ValidationAsk::saturation;
  object.fail("ask", "simulate, step, memory or saturation");
}

StepQuestion read_step(const JsonObject& object) {
  StepQuestion step;
  for (const JsonObject& chunk : object.objects("prefills", kPrefillKeys)) {
    const auto new_tokens = chunk.integer("new_tokens", 1, kMaxStepTokens);
    if (!new_tokens) chunk.fail_missing("new_tokens", "a number of tokens");
    step.prefills.push_back(
        {.new_tokens = *new_tokens,
         .context_tokens = chunk.integer("context_tokens", 0, kMaxStepTokens).value_or(0),
         .emits_token = chunk.boolean("emits_token").value_or(true)});
  }
  step.decode_sequences = object.integer("decode_sequences", 0, kMaxStepSequences).value_or(0);
  step.decode_context_tokens =
      object.integer("decode_context_tokens", 0, kMaxStepTokens).value_or(0);
  if (step.decode_sequences == 0 && step.decode_context_tokens > 0) {
    object.fail("decode_context_tokens", "0 without decode_sequences");
  }
  if (step.decode_sequences == 0 && step.prefills.empty()) {
    object.fail_missing("decode_sequences", "a batch: prefills, decode_sequences or both");
  }
  return step;
}

/// Results by path and format: several cases of a manifest may use runs of the same file.
using ReadResults = std::map<std::pair<std::string, std::string>, std::vector<MeasuredRun>>;

/// Position of a case in the manifest, and the folder of its paths.
struct CasePlace {
  std::string file;
  std::string path;  // "cases[3]"
  std::string row;   // "runs.csv, line 12"; empty without rows
  std::filesystem::path folder;
  ReadResults* results = nullptr;  // results read earlier

  std::string file_at(const std::string& relative) const {
    return (folder / relative).lexically_normal().string();
  }
  std::string where() const { return row.empty() ? file : file + ", " + row; }
  std::string at(const char* key) const { return where() + ": " + path + "." + key; }
};

/// Completes `given` with the setting stated in a measured file.
Scenario read_case_scenario(const json* given, const ValidationCase& question,
                            const CasePlace& place) {
  json filled = scenario_of(question.measured);
  if (given == nullptr && filled.empty()) {
    throw Error(place.at("scenario") + " is missing, expected a scenario or the path of one");
  }
  if (given != nullptr && given->is_string()) {
    return read_scenario(place.file_at(given->get<std::string>()));
  }
  if (given != nullptr && !given->is_object()) {
    throw Error(place.at("scenario") + ": expected a scenario or the path of one");
  }
  if (given != nullptr) {
    if (given->contains("workload")) filled.erase("workload");
    filled.merge_patch(*given);
  }
  const bool needs_load = question.ask == ValidationAsk::simulate;
  const bool is_given =
      given != nullptr && (given->contains("workload") || given->contains("max_concurrency"));
  if (needs_load && !is_given && !question.measured.format.empty() &&
      !says_load(question.measured)) {
    throw Error(
        place.at("scenario") + ": " + question.measured.origin +
        " does not state its load, expected \"max_concurrency\" or a \"workload\" with its rate");
  }
  if (!needs_load && !filled.contains("workload")) filled["workload"] = {{"type", "synthetic"}};
  Scenario scenario = parse_scenario(json_text(filled), place.at("scenario"));
  const auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  const bool is_recorded = trace != nullptr && trace->path == question.measured.origin;
  if (!is_recorded) resolve_workload_files(scenario, place.folder);
  return scenario;
}

bool names_num_prompts(const json* scenario) {
  return scenario != nullptr && scenario->is_object() && scenario->contains("workload") &&
         (*scenario)["workload"].contains("num_prompts");
}

/// Reads the run of a file that another tool wrote.
MeasuredRun read_result_file(const JsonObject& object, const CasePlace& place) {
  const auto file = object.text("file");
  if (!file || file->empty()) object.fail_missing("file", "a file or folder of results");
  ImportOptions options{.format = object.text("format").value_or("auto")};
  if (options.format == "auto") options.format.clear();
  const std::string path = place.file_at(*file);
  auto found = place.results->find({path, options.format});
  if (found == place.results->end()) {
    found = place.results->insert({{path, options.format}, read_measured(path, options)}).first;
  }
  const std::vector<MeasuredRun>& runs = found->second;
  const auto number = object.integer("run", 1, std::ssize(runs));
  if (!number && runs.size() > 1) {
    object.fail_missing("run",
                        fmt::format("1 to {}, because {} has that many runs", runs.size(), path));
  }
  return runs[static_cast<std::size_t>(number.value_or(1) - 1)];
}

void read_figures(const JsonObject& object, const CasePlace& place, ValidationCase& result) {
  const json* measured = object.find("measured");
  if (measured == nullptr) object.fail_missing("measured", "metrics, or a result file");
  if (measured->is_object() && measured->contains("file")) {
    result.measured = read_result_file(*object.object("measured", kFileKeys), place);
    result.figures = comparable_figures(result.measured);
    return;
  }
  result.measured.origin = result.place;
  result.measured.metrics = read_measured_figures(*measured, place.at("measured"));
  result.figures = result.measured.metrics;
}

std::map<std::string, std::string> read_labels(const JsonObject& object) {
  std::map<std::string, std::string> labels;
  const json* given = object.find("labels");
  if (given == nullptr) return labels;
  if (!given->is_object()) object.fail("labels", "an object of texts");
  for (const auto& [key, value] : given->items()) {
    if (value.is_structured()) object.fail("labels", "a text, number or boolean for each label");
    labels[key] = value.is_string() ? value.get<std::string>() : json_text(value);
  }
  return labels;
}

/// For another tool's result: whether `given` and the file together determine the deployment.
void judge_deployment(const json* given, ValidationCase& result) {
  if (result.measured.format.empty()) return;
  const auto gives = [&](const char* key) {
    return given != nullptr && (given->is_string() || given->contains(key));
  };
  if (!gives("engine")) result.assumed = assumptions_of(result.measured.setting);
  if (gives("parallel") || gives("cluster")) return;
  check_deployment(result.measured, result.scenario);
  const auto parallel = parallel_assumed(result.measured.setting, result.scenario);
  result.assumed.insert(result.assumed.end(), parallel.begin(), parallel.end());
}

void read_question(const JsonObject& object, const CasePlace& place, ValidationCase& result) {
  result.name = object.text("name").value_or(result.name);
  result.group = object.text("group").value_or("");
  result.source = object.text("source").value_or("");
  result.labels = read_labels(object);
  result.ask = read_ask(object);
  read_figures(object, place, result);
  const json* scenario = object.find("scenario");
  result.scenario = read_case_scenario(scenario, result, place);
  result.states_num_prompts =
      names_num_prompts(scenario) || (scenario != nullptr && scenario->is_string());
  judge_deployment(scenario, result);
  take_recorded_requests(result);
  result.stage = object.integer("stage", 1, kMaxStages);
  if (result.stage && result.ask != ValidationAsk::simulate) {
    object.fail("stage", "no such key unless \"ask\" is \"simulate\"");
  }
  const auto step = object.object("step", kStepKeys);
  if (result.ask == ValidationAsk::step) {
    if (!step) object.fail_missing("step", "the batch of the step");
    result.step = read_step(*step);
  } else if (step) {
    object.fail("step", "no such key unless \"ask\" is \"step\"");
  }
}

ValidationCase read_case(const json& described, const CasePlace& place) {
  ValidationCase result;
  result.name = place.path + (place.row.empty() ? "" : ", " + place.row);
  result.place = place.where() + ": " + place.path;
  const JsonObject object(described, place.where(), place.path, kCaseKeys);
  if (object.find("rules") != nullptr) object.fail("rules", "no such key without \"rows\"");
  try {
    read_question(object, place, result);
  } catch (const Error& error) {
    result.problem = error.what();
  }
  return result;
}

// ---- the file

/// The pattern of one row's case: every rule whose `where` the row passes is merged into it, in
/// their order; columns of a rule become the row's.
json with_rules(json pattern, const json& rules, PatternRow& row) {
  for (const json& rule : rules) {
    if (!passes(row, rule["where"])) continue;
    json patch = rule;
    patch.erase("where");
    patch.erase("columns");
    pattern.merge_patch(patch);
    if (const auto columns = rule.find("columns"); columns != rule.end()) {
      add_columns(*columns, row);
    }
  }
  return pattern;
}

json read_rules(const JsonObject& object) {
  for (const JsonObject& rule : object.objects("rules", kRuleKeys)) {
    const json* where = rule.find("where");
    if (where == nullptr || !where->is_object()) {
      rule.fail_missing("where", "columns and their values");
    }
    const json* columns = rule.find("columns");
    if (columns != nullptr && !columns->is_object()) rule.fail("columns", kColumns);
  }
  const json* rules = object.find("rules");
  return rules == nullptr ? json::array() : *rules;
}

/// Adds a case for each row of the case's pattern.
void add_rows(const json& described, const CasePlace& place, std::vector<ValidationCase>& cases) {
  const JsonObject object(described, place.file, place.path, kCaseKeys);
  json pattern = described;
  pattern.erase("rows");
  pattern.erase("rules");
  const json rules = read_rules(object);
  for (PatternRow& row : read_pattern_rows(*object.object("rows", kRowsKeys), place.folder)) {
    CasePlace of_row = place;
    of_row.row = row.place;
    ValidationCase unfilled{.name = place.path + ", " + row.place, .place = of_row.where()};
    try {
      cases.push_back(read_case(filled_in(with_rules(pattern, rules, row), row), of_row));
    } catch (const Error& error) {
      unfilled.problem = error.what();
      cases.push_back(std::move(unfilled));
    }
  }
}

json parse_manifest(const std::string& path) {
  try {
    return parse_bounded<json>(read_text_file(path), path, RepeatedKeys::refused);
  } catch (const json::exception& error) {
    throw Error(
        fmt::format("{}: is neither a result of a known format (`format`) nor a manifest, because "
                    "it is not JSON: {}",
                    path, json_problem(error.what())));
  }
}

}  // namespace

void take_recorded_requests(ValidationCase& question) {
  const auto* trace = std::get_if<TraceWorkload>(&question.scenario.workload);
  if (trace == nullptr || trace->path != question.measured.origin) return;
  question.recorded = recorded_workload(question.measured);
  question.measured.requests = {};  // kept once is enough
}

ValidationManifest read_manifest(const std::string& path) {
  const json text = parse_manifest(path);
  if (!text.is_object() || !text.contains("cases")) {
    throw Error(path +
                ": is neither a manifest (no \"cases\") nor a result of a known format (`format`)");
  }
  const JsonObject top(text, path, "", kTopKeys);
  if (top.integer("schema_version", 0, kAnyInteger) != kSchemaVersion) {
    top.fail("schema_version", fmt::format("{}", kSchemaVersion));
  }
  top.text("$schema");
  ValidationManifest manifest{.name = top.text("name").value_or(""), .cases = {}};
  const json* cases = top.find("cases");
  if (!cases->is_array() || cases->empty()) top.fail("cases", "a list of cases");
  const json* defaults = top.find("defaults");
  if (defaults != nullptr && !defaults->is_object()) top.fail("defaults", "an object");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  ReadResults results;
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const CasePlace place{.file = path,
                          .path = fmt::format("cases[{}]", i),
                          .row = "",
                          .folder = folder,
                          .results = &results};
    json described = defaults == nullptr ? json::object() : *defaults;
    described.merge_patch((*cases)[i]);
    if (described.is_object() && described.contains("rows")) {
      add_rows(described, place, manifest.cases);
    } else {
      manifest.cases.push_back(read_case(described, place));
    }
  }
  return manifest;
}

}  // namespace roofcast
