// Predictions beside measured runs: the error of every figure, and what many come to.
//
//   ValidationQuestion question{.files = {.files = {"my-runs.json"}}};
//   question.limits = {{.name = "ttft_s", .share = 0.15}};
//   const ValidationAnswer answer = validate(question).value();
//   if (!is_yes(answer)) std::cout << answer.exceeded.size() << " limits exceeded\n";
//
// Fields of an answer are described by its `members`, key by key (validate.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "reports/store.hpp"
#include "roofcast/envelope.hpp"
#include "validate/decisions.hpp"
#include "validate/ledger.hpp"
#include "validate/run_validation.hpp"
#include "validate/validation_inputs.hpp"
#include "validate/version_drift.hpp"

namespace roofcast {

struct ValidationQuestion {
  ValidationFiles files{};           // what is compared
  std::vector<ErrorLimit> limits{};  // on mean absolute errors; none: errors are only reported
  std::vector<std::string>
      by{};  // further keys of the ledger (validate/case_keys.hpp): {"version", "tp"}
  /// Dollars per GPU and hour by GPU's name, instead of the profile's, for decisions.
  std::map<std::string, double> prices{};
  int threads = 0;  // 0: one per core; does not affect the answer
};

struct ValidationInputs {
  std::vector<std::string> files{};  // as given
  std::string name{};                // of the manifest, if it is the only file
  std::vector<ErrorLimit> limits{};
  std::vector<std::string> by{};           // as given
  std::map<std::string, double> prices{};  // in use, by profile
};

struct CaseAnswer {
  ComparedCase compared{};
  std::vector<std::string> unpredicted{};  // measured figures without prediction: "itl_s p25"
  std::vector<std::string> warnings{};     // contradictions within the measured file
  std::vector<std::string> notes{};        // assumptions behind measurement and prediction
  /// Those of `notes` that are about what the measured file does not say. Not in the JSON.
  std::vector<std::string> assumed{};
};

struct ValidationAnswer {
  AnswerHead head{};
  ValidationInputs inputs{};
  double interval_share = 0;         // of measured values that the intervals are meant to hold
  std::vector<CaseAnswer> cases{};   // in the order of the files
  std::int64_t answered = 0;         // cases with a prediction
  std::int64_t unanswered = 0;       // cases without
  std::vector<LedgerLine> ledger{};  // over all cases, then by group, engine, GPU, model and keys
  std::vector<DecisionSummary> choices{};  // what choices by predictions are worth, summed up
  std::vector<Decision> decisions{};       // one by one
  std::vector<VersionDrift> versions{};    // how far versions of an engine differ
  std::vector<ExceededLimit> exceeded{};
  std::vector<ErrorLimit> unjudged{};  // limits that no figure is about
  /// Whether every file could be read. Not in the JSON; true when read back.
  bool whole = true;
};

/// A validation with its questions and predictions, for the store.
struct ValidationOutcome {
  std::vector<ValidationCase> cases{};
  std::vector<ValidatedCase> validated{};  // one for each of `cases`
  ValidationAnswer answer{};
};

/// `progress` gets (cases, total); if it returns false the result is nullopt. A case that cannot be
/// predicted has its reason in the answer. Throws Error for a single file that cannot be read, and
/// for invalid or idle overrides; UsageError for a key of `by` that no case has and for a price of
/// an unknown GPU.
std::optional<ValidationAnswer> validate(const ValidationQuestion& question,
                                         const Progress& progress = {});

/// The second part of validate(): read_inputs(question.files) reads `manifest`, this predicts.
std::optional<ValidationOutcome> validate(const ValidationQuestion& question,
                                          ValidationManifest manifest,
                                          const Progress& progress = {});

/// Both sides of every answered case, as they are stored.
std::vector<ValidationRuns> validation_runs(const ValidationOutcome& outcome,
                                            const std::string& command_line);

/// Whether every case has an answer and every limit a figure.
bool is_judged_whole(const ValidationAnswer& answer);

/// Whether the answer is a judgement at all: all files were read, something was predicted, and, if
/// there are limits, is_judged_whole().
bool is_judged(const ValidationAnswer& answer);

/// Whether the answer is yes: it is judged, and no limit is exceeded.
bool is_yes(const ValidationAnswer& answer);

/// What `roofcast validate -o json` prints.
Json to_json(const ValidationAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
ValidationAnswer validation_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json validation_answer_schema();

}  // namespace roofcast
