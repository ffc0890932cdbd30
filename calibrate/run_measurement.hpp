// A real run of a model with random weights on this machine: open the device, make room, serve the
// workload, and put the same steps to the estimate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/runtime/serve.hpp"
#include "calibrate/runtime/step_comparison.hpp"
#include "calibrate/runtime/textbook_profile.hpp"
#include "kernels/backend.hpp"
#include "model/deployment.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

struct MeasureQuestion {
  Scenario scenario{};  // model, workload, engine's knobs; gpu: a profile to compare with, or ""
  std::optional<int> layers;          // the first so many; absent: all
  std::optional<std::int64_t> batch;  // the textbook's load: so many equal requests at once
  bool naive = false;                 // the same request without a KV cache as well
};

/// One loop over the workload.
struct MeasuredLoop {
  runtime::ServedRun run{};
  std::optional<runtime::StepComparison> comparison{};  // with a profile
  std::vector<Seconds> predicted{};                     // by step; with a profile
};

struct Measurement {
  MeasureQuestion question{};
  kernels::DeviceFacts device{};
  runtime::RunnableModel model{};
  Deployment deployment{};  // of the layers that ran; its GPU is the profile, or the device's facts
  std::string profile_hash{};  // of the profile; empty without one
  bool has_profile = false;
  Workload workload{};
  runtime::ExecutorLimits limits{};
  MeasuredLoop cached{};
  std::optional<MeasuredLoop> naive{};
  BytesPerSecond bandwidth{};  // of a copy on this device, measured just before
  std::optional<runtime::TextbookProfile> textbook{};  // with `batch`
};

/// Throws Error when the model cannot be run here (what it has that the engine lacks, memory), or
/// the workload is longer than the model's context. `progress` as SimulationOptions::progress.
Measurement measure(kernels::Backend& backend, const MeasureQuestion& question,
                    const std::function<bool(std::int64_t, std::int64_t)>& progress);

}  // namespace roofcast
