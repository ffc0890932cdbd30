// The manifest of `roofcast validate`: measured runs and what they ran on, any number of them in
// one JSON file. Schema: reports/validation.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_time.hpp"
#include "reports/measured_run.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// What a case asks of its scenario.
enum class ValidationAsk {
  simulate,   // the workload through the engine
  step,       // the time of one step
  memory,     // KV blocks and tokens, concurrency
  saturation  // throughput when everything is sent at once, without its beginning and end
};

/// The batch of ValidationAsk::step.
struct StepQuestion {
  std::vector<PrefillChunk> prefills{};
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context_tokens = 0;  // cached before the step, summed over the sequences
};

/// One measured run, and the question that predicts it.
struct ValidationCase {
  std::string name{};
  std::string group{};
  std::string source{};
  std::string place{};  // "manifest.json: cases[3], runs.csv, line 12", for messages
  ValidationAsk ask = ValidationAsk::simulate;
  Scenario scenario{};
  bool states_num_prompts = false;      // the scenario says how many requests there are
  std::optional<std::int64_t> stage{};  // of the load's reported ones, from 1, that was measured
  StepQuestion step{};
  MeasuredRun measured{};
  std::vector<MetricRow> figures{};    // of `measured`, those to be compared
  std::optional<Workload> recorded{};  // the scenario's load, where it is the measured requests
  std::vector<std::string> assumed{};  // what the measured file does not say, and how it was taken
  std::string problem{};  // why it cannot be asked, naming file and key; empty when it can
};

struct ValidationManifest {
  std::string name{};
  std::vector<ValidationCase> cases{};
  std::vector<std::string> remarks{};  // on what was read, in lines: files that repeat others, ...
  bool whole = true;                   // false: a file could not be read
};

/// Sets `recorded` where the scenario's load is the measured run's own.
void take_recorded_requests(ValidationCase& question);

/// Reads a manifest and the files it names, whose paths are relative to it. What is wrong within
/// one case is its `problem`. Throws Error naming file, case and key for anything else.
ValidationManifest read_manifest(const std::string& path);

}  // namespace roofcast
