// Runs a real model with random weights on this machine, and puts the estimate beside it.
//
//   MeasureQuestion question;
//   question.scenario.deployment.model = "gpt2";
//   question.scenario.workload = SyntheticWorkload{.num_prompts = 1, .request_rate = kAllAtOnce};
//   question.batch = 1;
//   const MeasureAnswer answer = measure(question).value();
//   std::cout << answer.textbook->decode_step.value << " s a token\n";
//
// Fields of an answer are described by its `members`, key by key (measure.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/distribution.hpp"
#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "calibrate/run_measurement.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "reports/store.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct MeasureQuestion : MeasurementTask {
  std::string device = "cpu";  // cpu, cuda (the first GPU) or cuda:N
  int threads = 0;             // of the CPU; 0: one per core
};

struct MeasureInputs {
  DeploymentInputs deployment{};
  std::string device{};
  std::int64_t layers = 0;
  std::string weights{};  // number formats of the matrices, by falling bytes: "q4_k, q6_k"
  std::string element{};  // number format of activations and KV
  std::int64_t kv_pages = 0;
};

/// Times of each token, without and with a KV cache: medians and quartiles over the repeats.
/// Predicted ones are empty without a profile.
struct MeasuredStaircase {
  std::vector<Seconds> naive{}, cached{};
  std::vector<Seconds> naive_p25{}, naive_p75{}, cached_p25{}, cached_p75{};
  std::vector<Seconds> naive_predicted{}, cached_predicted{};
  /// Tokens that both loops generated alike before the first difference: all, unless rounding
  /// decides between close logits, because K and V of old tokens cannot change under a causal mask.
  std::int64_t equal_tokens = 0;
};

struct MeasureAnswer {
  AnswerHead head{};
  MeasureInputs inputs{};
  BytesPerSecond copy_bandwidth{};                     // of the device, measured just before
  std::optional<runtime::TextbookProfile> textbook{};  // if `batch` is set
  std::int64_t completed = 0;                          // requests
  std::int64_t rejected = 0;  // requests longer than the engine or its cache takes
  std::int64_t repeats = 1;   // runs of the load that were measured,
  std::int64_t warm_ups = 0;  // and before them
  std::int64_t steps = 0;
  double output_tokens_per_s = 0;
  std::int64_t preemptions = 0;
  std::optional<Distribution> ttft{}, tpot{}, e2e{};    // unset: no request had one
  std::optional<MeasuredStaircase> staircase{};         // if `naive`
  std::optional<runtime::StepComparison> prediction{};  // if a profile was given
  std::vector<std::string> notes{};                     // human-readable

  // Not in the JSON.
  std::string headline{};          // "gpt2, 12 layers, fp32 random weights, run on ..."
  std::string workload{};          // description of the load
  std::int64_t batch = 0;          // equal requests at once; 0: another load
  std::int64_t prompt_tokens = 0;  // of the first request
  std::int64_t output_tokens = 0;
  std::optional<Seconds> predicted_prefill{}, predicted_decode{};  // for `textbook`'s steps
};

/// `progress` gets (requests finished, total) over all repeats; if it returns false the result is
/// nullopt. Throws Error if the device cannot be opened, the model cannot be run on it, or the
/// workload is longer than the model's context.
std::optional<MeasureAnswer> measure(const MeasureQuestion& question,
                                     const Progress& progress = {});

/// A measurement and its answer, for the store.
struct MeasureOutcome {
  Measurement measurement{};
  MeasureAnswer answer{};
};
std::optional<MeasureOutcome> measure_with_requests(const MeasureQuestion& question,
                                                    const Progress& progress = {});

/// Like a simulation's row, with kind "measure", the device's name if no profile was given, and the
/// textbook figures among its metrics.
Run measure_row(const Measurement& measurement, const std::string& command_line,
                bool keep_requests);

/// What `roofcast measure -o json` prints.
Json to_json(const MeasureAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
MeasureAnswer measure_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json measure_answer_schema();

}  // namespace roofcast
