// What a textbook profiler of LLM inference reports: prefill time, time per decoded token, and how
// far both are from the limit set by weights and bandwidth.
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
  std::int64_t repeats = 0;  // runs of the same load
  /// Of the whole batch's prompts, until the first token of each: median and quartiles over the
  /// repeats.
  Seconds prefill{};
  Seconds prefill_p25{};
  Seconds prefill_p75{};
  /// Over the decode steps of the whole batch (decodes_whole_batch) of all repeats: median, spread.
  Seconds decode_step{};
  Seconds decode_p10{};
  Seconds decode_p25{};
  Seconds decode_p75{};
  Seconds decode_p90{};
  std::int64_t decode_steps = 0;
  /// Minimum time of a decode step halfway through the output: the weights that its tokens need and
  /// the batch's keys and values, each read once at the given bandwidth.
  Seconds decode_minimum{};
  double decode_efficiency = 0;  // decode_minimum / decode_step
};

/// Whether a step decodes one token of every request and nothing else. If the requests do not all
/// fit at once, steps with fewer of them say nothing about the batch.
bool decodes_whole_batch(const TimedStep& step, const TextbookLoad& load);

/// Computed from the steps of each run in which `load.batch` equal requests arrived at once. A step
/// with any prompt tokens counts as prefill. `bandwidth`: the device's measured copy rate, or that
/// of its datasheet. Precondition: at least one run; each has a step with prompt tokens.
TextbookProfile textbook_profile(const std::vector<std::vector<TimedStep>>& runs,
                                 const RunnableModel& model, const TextbookLoad& load,
                                 BytesPerSecond bandwidth);

}  // namespace roofcast::runtime
