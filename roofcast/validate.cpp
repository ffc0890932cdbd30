#include "roofcast/validate.hpp"

#include <utility>

#include "base/statistics.hpp"
#include "planner/evaluate_all.hpp"
#include "roofcast/record_parts.hpp"
#include "validate/validation_rows.hpp"

namespace roofcast {

// ---- the record

template <>
struct EnumNames<LedgerBy> {
  static inline const auto values =
      names_of(LedgerBy::all, LedgerBy::group, LedgerBy::engine, LedgerBy::gpu, LedgerBy::model);
};

template <class Visitor>
void members(Visitor& visit, ErrorLimit& limit) {
  visit("name", limit.name, "of the metric; empty: every metric");
  visit("statistic", limit.statistic, "of the metric; empty: every statistic");
  visit("share", limit.share, "the largest mean absolute error that is accepted");
}

template <class Visitor>
void members(Visitor& visit, ValidationInputs& inputs) {
  visit("files", inputs.files, "manifests, results and folders");
  visit("name", inputs.name, "of the manifest");
  visit("threshold", inputs.limits, "limits on errors");
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
  visit("engine", compared.engine, "preset or profile");
  visit("gpu", compared.gpu, "hardware profile");
  visit("model", compared.model, "catalogue name or path");
  visit("answered", answered, "whether there is a prediction");
  visit("reason", reason, "why there is none; null: there is");
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
  visit("key", line.key, "the group, engine, GPU or model; empty for all");
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
void members(Visitor& visit, ValidationAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  visit("interval_share", answer.interval_share,
        "share of measured values that intervals are meant to hold");
  visit("cases", answer.cases, "in the order of the files");
  visit("answered", answer.answered, "cases with a prediction");
  visit("unanswered", answer.unanswered, "cases without");
  visit("ledger", answer.ledger, "errors over all cases, then by group, engine, GPU and model");
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

ValidationAnswer answer_of(const ValidationQuestion& question, const ValidationManifest& manifest,
                           const std::vector<ValidatedCase>& validated) {
  ValidationAnswer answer{.head = answer_head(kValidateCommand),
                          .inputs = {question.files.files, manifest.name, question.limits},
                          .interval_share = kIntervalShare,
                          .whole = manifest.whole};
  std::vector<ComparedCase> compared;
  for (const ValidatedCase& one : validated) {
    answer.cases.push_back(case_of(one));
    compared.push_back(one.compared);
    ++(one.compared.reason.empty() ? answer.answered : answer.unanswered);
  }
  answer.ledger = ledger_of(compared);
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
