// The manifest of `roofcast validate`: any number of measured runs and their deployments in one
// JSON file. Schema: validate/validation.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_time.hpp"
#include "reports/measured_run.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Question that a case asks of its scenario.
enum class ValidationAsk {
  simulate,   // serve the workload
  step,       // the time of one step
  memory,     // KV blocks and tokens, concurrency
  saturation  // throughput when everything is sent at once, without start and end
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
  std::map<std::string, std::string> labels{};  // of the manifest's own, by which ledgers group
  std::string source{};
  std::string place{};  // "manifest.json: cases[3], runs.csv, line 12", for messages
  ValidationAsk ask = ValidationAsk::simulate;
  Scenario scenario{};
  bool states_num_prompts = false;      // the scenario specifies the number of requests
  std::optional<std::int64_t> stage{};  // measured stage of the load, from 1, of those reported
  StepQuestion step{};
  MeasuredRun measured{};
  std::vector<MetricRow> figures{};    // figures of `measured` to be compared
  std::optional<Workload> recorded{};  // the scenario's load, if it consists of the measured
                                       // requests
  std::vector<std::string> assumed{};  // what the measured file does not state, and what was
                                       // assumed
  std::string problem{};  // why it cannot be asked, naming file and key; empty if it can
};

struct ValidationManifest {
  std::string name{};
  std::vector<ValidationCase> cases{};
  std::vector<std::string> remarks{};  // on the files read, one per line: files that repeat
                                       // others, ...
  bool whole = true;                   // false: a file could not be read
};

/// Sets `recorded` if the scenario's load is the measured run's own.
void take_recorded_requests(ValidationCase& question);

/// Reads a manifest and the files it names, relative to it. An error within one case becomes its
/// `problem`. Throws Error naming file, case and key for anything else.
ValidationManifest read_manifest(const std::string& path);

}  // namespace roofcast
