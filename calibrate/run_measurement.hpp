// Runs a model with random weights on this machine: opens the device, allocates memory, serves the
// workload, and predicts the same steps with the estimate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "calibrate/runtime/serve.hpp"
#include "calibrate/runtime/step_comparison.hpp"
#include "calibrate/runtime/textbook_profile.hpp"
#include "kernels/backend.hpp"
#include "model/deployment.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

struct MeasurementTask {
  Scenario scenario{};  // model, workload, engine knobs; gpu: a profile to compare with, or ""
  std::optional<int> layers;          // use only this many first layers; unset: all
  std::optional<std::int64_t> batch;  // the textbook load: this many equal requests at once
  bool naive = false;                 // also run the same request without a KV cache
  /// With `batch`: runs that are discarded, then runs that are measured. Otherwise the load runs
  /// once.
  int warm_ups = 1;
  int repeats = 5;
};

/// One loop over the workload.
struct MeasuredLoop {
  runtime::ServedRun run{};                                // the repeat of median time
  std::vector<std::vector<runtime::TimedStep>> repeats{};  // steps of all, in the order they ran
  std::optional<runtime::StepComparison> comparison{};     // if a profile is given
  std::vector<Seconds> predicted{};                        // per step, if a profile is given
};

struct Measurement {
  MeasurementTask task{};
  kernels::DeviceFacts device{};
  runtime::RunnableModel model{};
  Deployment deployment{};     // of the layers that ran; its GPU is the profile, or the device's
                               // facts
  std::string profile_hash{};  // hash of the profile; empty without one
  bool has_profile = false;
  Workload workload{};
  runtime::ExecutorLimits limits{};
  std::int64_t loops = 0;  // over the workload, warm-ups and those without a cache included
  MeasuredLoop cached{};
  std::optional<MeasuredLoop> naive{};
  std::string weights_file{};        // that the weights are read from; empty: random ones
  std::string why_random_weights{};  // if the model has a file that cannot be run as stored
  BytesPerSecond bandwidth{};  // of this device's memory, copied or, if faster, read, just before
  std::optional<runtime::TextbookProfile> textbook{};  // if `batch` is set
};

/// Throws Error if the model cannot be run here (an unsupported feature, too little memory) or the
/// workload is longer than the model's context. `progress` as in SimulationOptions::progress, with
/// the requests of all loops.
Measurement run_measurement(kernels::Backend& backend, const MeasurementTask& task,
                            const Progress& progress);

}  // namespace roofcast
