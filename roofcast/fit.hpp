// Fits an engine's host terms to measured runs, as an engine profile.
//
//   const FitAnswer answer = fit({.files = {"my-runs.json"}, .out = "our-vllm.json"}).value();
//   std::cout << answer.errors.fitted.mean << '\n';
//
// Fields of an answer are described by its `members`, key by key (fit.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "calibrate/overhead_fit.hpp"
#include "model/engines/host_terms.hpp"
#include "roofcast/envelope.hpp"
#include "validate/run_fit.hpp"

namespace roofcast {

struct FitQuestion {
  std::vector<std::string> files{};  // manifests of measured runs
  std::string engine{};  // use only its cases, as they spell it, or the default; empty: all
  std::vector<const HostTerm*>
      terms{};  // of host_terms(), the surest first; empty: all but per_prompt_token
  std::string name = "fitted";  // of the engine profile
  std::string out{};            // file that the profile is written to; empty: none
};

struct FitInputs {
  std::vector<std::string> files{};
  std::string out{};
};

struct FittedEngine {
  std::string name{};    // of the profile
  std::string preset{};  // whose terms it starts from
};

struct TermAnswer {
  std::string name{};
  double preset_value = 0;                    // seconds
  double value = 0;                           // seconds
  std::optional<double> standard_error{};     // seconds; unset: not known
  std::optional<std::string> unidentified{};  // why the runs do not determine it; unset: they do
};

struct FitErrors {
  FigureErrors preset{};  // with the preset's terms
  FigureErrors fitted{};
  std::optional<FigureErrors> leave_one_run_out{};  // unset: no run can be left out
};

/// Mean absolute relative errors of one of the fitted metrics.
struct FittedMetric {
  std::string name{};  // "ttft_s mean"
  std::int64_t figures = 0;
  double preset = 0;  // with the preset's terms
  double fitted = 0;
  std::optional<double> leave_one_run_out{};
};

struct FitAnswer {
  AnswerHead head{};
  FitInputs inputs{};
  FittedEngine engine{};
  std::int64_t runs = 0;     // used
  std::int64_t figures = 0;  // measured, in those runs
  std::vector<std::string> fitted_metrics{};
  std::vector<TermAnswer> terms{};  // in the order asked for
  FitErrors errors{};
  std::vector<FittedMetric> metrics{};
  std::vector<LeftOutCase> left_out{};
  /// The engine profile. Not in the JSON; empty when read back.
  EngineProfile profile{};
};

/// `progress` gets (predictions made, their maximum number); if it returns false the result is
/// nullopt and nothing is written. Throws Error for unreadable files, if the cases use several
/// engines or none of them can be used, and if `out` cannot be written.
std::optional<FitAnswer> fit(const FitQuestion& question, const Progress& progress = {});

/// What `roofcast fit -o json` prints.
Json to_json(const FitAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
FitAnswer fit_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json fit_answer_schema();

}  // namespace roofcast
