#include "roofcast/validate.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "base/suggest.hpp"
#include "model/io/gpu_reader.hpp"
#include "planner/evaluate_all.hpp"
#include "roofcast/record_parts.hpp"
#include "validate/case_keys.hpp"
#include "validate/validation_rows.hpp"

namespace roofcast {

// ---- the record

template <>
struct EnumNames<LedgerBy> {
  static inline const auto values = names_of(LedgerBy::all, LedgerBy::group, LedgerBy::engine,
                                             LedgerBy::gpu, LedgerBy::model, LedgerBy::keys);
};

template <>
struct EnumNames<ChoiceOf> {
  static inline const auto values =
      names_of(ChoiceOf::layout, ChoiceOf::gpu, ChoiceOf::gpu_per_dollar);
};

template <class Visitor>
void members(Visitor& visit, ValidationInputs& inputs) {
  visit("files", inputs.files, "manifests, results and folders");
  visit("name", inputs.name, "of the manifest");
  visit("threshold", inputs.limits, "limits on errors");
  visit("by", inputs.by, "further keys of the ledger");
  visit("prices_usd_per_h", inputs.prices, "of one GPU, by profile, for decisions");
}

template <class Visitor>
void members(Visitor& visit, ComparedFigure& figure) {
  std::optional<double> error = relative_error(figure);
  bool covered = is_covered(figure);
  visit("name", figure.name, "of the metric, which ends in its unit");
  visit("statistic", figure.statistic, "value, mean or a percentile");
  visit("measured", figure.measured, "in that unit");
  visit("predicted", figure.predicted, "in that unit");
  visit("relative_error", error, "predicted / measured - 1; null where 0 was measured");
  visit("interval_low", figure.interval.low, "of the prediction");
  visit("interval_high", figure.interval.high, "of the prediction");
  visit("covered", covered, "the interval holds what was measured");
}

template <class Visitor>
void members(Visitor& visit, CaseAnswer& one) {
  ComparedCase& compared = one.compared;
  bool answered = compared.reason.empty();
  std::optional<std::string> reason;
  if (!answered) reason = compared.reason;
  visit("name", compared.name, "of the case");
  visit("group", compared.group, "the user's own label; may be empty");
  visit("labels", compared.labels, "further ones, by name");
  visit("engine", compared.engine, "preset or profile");
  visit("gpu", compared.gpu, "hardware profile");
  visit("model", compared.model, "catalogue name or path");
  visit("answered", answered, "whether there is a prediction");
  visit("reason", reason, "why there is no prediction; null if there is one");
  visit("figures", compared.figures, "that both sides have");
  visit("not_predicted", one.unpredicted, "measured figures that predictions lack");
  visit("warnings", one.warnings, "contradictions within the measured file, for people");
  visit("notes", one.notes, "assumptions, for people");
  // A writer leaves it as it is: what it writes may be const.
  if (compared.reason != reason.value_or("")) compared.reason = reason.value_or("");
}

template <class Visitor>
void members(Visitor& visit, LedgerLine& line) {
  ErrorSummary& errors = line.errors;
  visit("by", line.by, "what the line sums over");
  visit("key", line.key,
        "the group, engine, GPU, model, or values of the keys of `by`; empty for all");
  visit("name", line.name, "of the metric");
  visit("statistic", line.statistic, "of the metric");
  visit("figures", errors.figures, "how many");
  visit("bias", errors.bias, "mean relative error");
  visit("mape", errors.mape, "mean absolute relative error");
  visit("median", errors.median, "of the absolute relative errors");
  visit("p90", errors.p90, "of the absolute relative errors");
  visit("coverage", errors.coverage, "share of the figures that their interval holds");
}

template <class Visitor>
void members(Visitor& visit, ExceededLimit& exceeded) {
  visit("name", exceeded.name, "of the metric");
  visit("statistic", exceeded.statistic, "of the metric");
  visit("mape", exceeded.mape, "over all cases");
  visit("limit", exceeded.limit, "that it is past");
}

template <class Visitor>
void members(Visitor& visit, DecisionSummary& line) {
  visit("choice", line.choice, "of what");
  visit("saturated", line.saturated, "everything sent at once, so that there is no TPOT limit");
  visit("gpu", line.gpu, "hardware profile; empty: all");
  visit("questions", line.questions, "models, loads and limits with two deployments or more");
  visit("regret", line.regret, "mean share of the best throughput that the choice gives away");
  visit("largest_regret", line.largest_regret, "of a question");
  visit("unmet", line.unmet, "questions whose choice cannot meet the limit");
  visit("promised", line.promised, "questions whose choice is predicted to meet it");
  visit("broken", line.broken,
        "of those, choices whose predicted best point misses it by over 5 %");
  visit("pairs", line.pairs, "of deployments that differ by over 5 %");
  visit("ordered", line.ordered, "share of them in the right order; null: there are none");
  visit("kendall", line.kendall, "tau-b of all pairs; null where one side is tied throughout");
}

template <class Visitor>
void members(Visitor& visit, Decision& decision) {
  visit("choice", decision.choice, "of what");
  visit("question", decision.question, "model and load");
  visit("gpu", decision.gpu, "hardware profile; empty: all");
  visit("tpot_limit_s", decision.tpot_limit, "null: saturated");
  visit("chosen", decision.chosen, "deployment that is predicted to be the best");
  visit("best", decision.best, "deployment that was measured to be the best");
  visit("alternatives", decision.alternatives, "deployments that were measured");
  visit("regret", decision.regret, "share of the best throughput that the choice gives away");
  visit("promised", decision.promised, "the choice is predicted to meet the limit");
  visit("probability", decision.probability,
        "predicted, that the chosen one meets the limit and is within 5 % of the best");
  visit("broken", decision.broken, "its predicted best point misses the limit by over 5 %");
  visit("pairs", decision.pairs, "of deployments that differ by over 5 %");
  visit("ordered", decision.ordered, "of them, in the right order");
  visit("concordant", decision.concordant, "of all pairs, in the same order on both sides");
  visit("discordant", decision.discordant, "in the opposite one");
  visit("tied_measured", decision.tied_measured, "equal where measured only");
  visit("tied_predicted", decision.tied_predicted, "equal where predicted only");
}

template <class Visitor>
void members(Visitor& visit, VersionDrift& drift) {
  visit("vendor", drift.vendor, "of the GPU");
  visit("gpu", drift.gpu, "hardware profile; empty: all of the vendor");
  visit("engine", drift.engine, "without its version");
  visit("half_year", drift.half_year, "of the later run: 2026-1 is January to June");
  visit("settings", drift.settings, "measured on two dates or more");
  visit("median", drift.median, "TPOT on the slowest over that on the fastest date");
  visit("largest", drift.largest, "of a setting");
  visit("setting", drift.setting, "which that is");
  visit("predicted", drift.predicted, "ratio predicted for its two runs");
}

template <class Visitor>
void members(Visitor& visit, ValidationAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  visit("interval_share", answer.interval_share,
        "share of measured values that intervals are meant to hold");
  visit("cases", answer.cases, "in the order of the files");
  visit("answered", answer.answered, "cases with a prediction");
  visit("unanswered", answer.unanswered, "cases without");
  visit("ledger", answer.ledger,
        "errors over all cases, then by group, engine, GPU, model and `by`");
  visit("choices", answer.choices, "what choices by predictions are worth, summed up");
  visit("decisions", answer.decisions, "one by one");
  visit("versions", answer.versions, "how far versions of an engine differ on one deployment");
  visit("exceeded", answer.exceeded, "limits that errors are past");
  visit("unjudged", answer.unjudged, "limits that no figure is about");
}

namespace {

constexpr const char* kValidateCommand = "validate";

CaseAnswer case_of(const ValidatedCase& validated) {
  CaseAnswer one{.compared = validated.compared,
                 .unpredicted = validated.unpredicted,
                 .warnings = validated.warnings,
                 .notes = validated.assumed,
                 .assumed = validated.assumed};
  const std::vector<std::string>& predicted = validated.prediction.notes;
  one.notes.insert(one.notes.end(), predicted.begin(), predicted.end());
  return one;
}

/// Prices of the GPUs of the cases: those given, else the profiles'. Throws UsageError for a price
/// of a GPU that does not exist.
std::map<std::string, double> prices_of(const std::vector<ComparedCase>& compared,
                                        const std::map<std::string, double>& given) {
  std::map<std::string, double> prices;
  for (const ComparedCase& one : compared) {
    if (!one.reason.empty() || prices.contains(one.gpu)) continue;
    try {
      const Gpu gpu = load_gpu(one.gpu).gpu;
      if (gpu.price) prices[one.gpu] = gpu.price->value;
    } catch (const Error&) {  // several pools: "nvidia-h100-sxm + nvidia-l40s"
      continue;
    }
  }
  for (const auto& [name, price] : given) prices[load_gpu(name).gpu.name] = price;
  return prices;
}

/// Throws UsageError for a key that no case has.
void check_keys(const std::vector<std::string>& by, const std::vector<ValidationCase>& cases) {
  if (by.empty()) return;
  std::vector<ComparedCase> compared;
  for (const ValidationCase& one : cases) compared.push_back({.keys = keys_of(one)});
  const std::vector<std::string> known = ledger_keys(compared);
  for (const std::string& key : by) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw UsageError("`by`: no case has a key '" + key + "'" + did_you_mean(key, known));
  }
}

ValidationAnswer answer_of(const ValidationQuestion& question, const ValidationManifest& manifest,
                           const std::vector<ValidatedCase>& validated) {
  ValidationAnswer answer{.head = answer_head(kValidateCommand),
                          .inputs = {.files = question.files.files,
                                     .name = manifest.name,
                                     .limits = question.limits,
                                     .by = question.by},
                          .interval_share = kIntervalShare,
                          .whole = manifest.whole};
  std::vector<ComparedCase> compared;
  for (const ValidatedCase& one : validated) {
    answer.cases.push_back(case_of(one));
    compared.push_back(one.compared);
    ++(one.compared.reason.empty() ? answer.answered : answer.unanswered);
  }
  answer.ledger = ledger_of(compared, question.by);
  answer.inputs.prices = prices_of(compared, question.prices);
  answer.decisions = decisions_of(decision_runs(compared), answer.inputs.prices);
  answer.choices = summaries_of(answer.decisions);
  answer.versions = version_drift(compared);
  answer.exceeded = exceeded_limits(answer.ledger, question.limits);
  answer.unjudged = unjudged_limits(answer.ledger, question.limits);
  return answer;
}

}  // namespace

std::optional<ValidationOutcome> validate(const ValidationQuestion& question,
                                          ValidationManifest manifest, const Progress& progress) {
  const int threads = question.threads > 0 ? question.threads : available_threads();
  const auto go_on = [&](std::int64_t done, std::int64_t total) {
    return !progress || progress(done, total);
  };
  check_keys(question.by, manifest.cases);  // before all is simulated
  auto validated = run_validation(manifest.cases, threads, go_on);
  if (!validated) return std::nullopt;
  ValidationAnswer answer = answer_of(question, manifest, *validated);
  return ValidationOutcome{std::move(manifest.cases), *std::move(validated), std::move(answer)};
}

std::optional<ValidationAnswer> validate(const ValidationQuestion& question,
                                         const Progress& progress) {
  auto outcome = validate(question, read_inputs(question.files), progress);
  if (!outcome) return std::nullopt;
  return std::move(outcome->answer);
}

std::vector<ValidationRuns> validation_runs(const ValidationOutcome& outcome,
                                            const std::string& command_line) {
  return validation_runs(outcome.validated, outcome.cases, command_line);
}

bool is_judged_whole(const ValidationAnswer& answer) {
  return answer.unanswered == 0 && answer.unjudged.empty();
}

bool is_judged(const ValidationAnswer& answer) {
  return answer.whole && answer.answered > 0 &&
         (answer.inputs.limits.empty() || is_judged_whole(answer));
}

bool is_yes(const ValidationAnswer& answer) { return is_judged(answer) && answer.exceeded.empty(); }

Json to_json(const ValidationAnswer& answer) { return record_to_json(answer); }

ValidationAnswer validation_answer_from_json(const Json& json) {
  return answer_from_json<ValidationAnswer>(json, kValidateCommand);
}

Json validation_answer_schema() {
  return schema_document<ValidationAnswer>("What roofcast validate answers");
}

}  // namespace roofcast
