// What a textbook profiler of LLM inference reports: the time of one prefill, the time per decoded
// token, and how far both are from what weights and bandwidth allow.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/runtime/device_step.hpp"

namespace roofcast::runtime {

struct TextbookLoad {
  std::int64_t batch = 1;
  std::int64_t input_tokens = 512;
  std::int64_t output_tokens = 32;
};

struct TextbookProfile {
  Seconds prefill{};      // the whole batch's prompts, until the first token of each
  Seconds decode_step{};  // median of the decode steps of the whole batch (decodes_whole_batch)
  Seconds decode_p10{};
  Seconds decode_p90{};
  std::int64_t decode_steps = 0;
  /// Least time of a decode step in the middle of the output: the weights that its tokens need and
  /// the batch's keys and values once over the bandwidth.
  Seconds decode_minimum{};
  double decode_efficiency = 0;  // decode_minimum / decode_step
};

/// Whether a step does nothing but decode a token of every request. Where requests do not fit in
/// together, steps of fewer say nothing of the batch.
bool decodes_whole_batch(const TimedStep& step, const TextbookLoad& load);

/// From the steps of a run in which `load.batch` equal requests came at once. A step is prefill
/// when any prompt tokens are in it. `bandwidth`: what the device copies at, or its datasheet says.
/// Precondition: at least one step.
TextbookProfile textbook_profile(const std::vector<TimedStep>& steps, const RunnableModel& model,
                                 const TextbookLoad& load, BytesPerSecond bandwidth);

}  // namespace roofcast::runtime
