// The sweep as a table: every case of a calibration, in the order in which it is timed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Bounds of the sizes.
struct CaseLimits {
  std::int64_t max_tokens = 8192;    // of a step
  std::int64_t max_sequences = 256;  // that decode at once
  std::int64_t longest_context = 131072;
  double cached_bytes = 16e9;  // of keys and values in one call
  double message_bytes = 0;    // of a collective's message
  int message_octaves = 1;     // between two sizes of messages
  bool every_source = true;    // false: each family's preferred kernels alone
};

/// The cases of one rank's operators of a deployment (its own N and K, heads and widths), coarse
/// before fine, the sources of each family one after the other. Operators that no kernel here
/// computes (a recurrent state's scan, quantised activations) are left out; collectives are
/// collective_cases.hpp's.
std::vector<CalibrationCase> model_cases(const Deployment& deployment,
                                         const kernels::Backend& backend, const CaseLimits& limits);

/// A grid over shapes in use, for models that are not known yet.
std::vector<CalibrationCase> generic_cases(const kernels::Backend& backend,
                                           const CaseLimits& limits);

/// What the device can do at most: copies from the cache's size to far beyond it, an empty kernel.
/// Always first.
std::vector<CalibrationCase> ceiling_cases(const kernels::Backend& backend,
                                           double memory_limit_bytes);

/// The same large GEMM again and again: its times tell how the device drifts. In the device's main
/// 16-bit format, else fp32.
CalibrationCase sentinel_case(const kernels::Backend& backend);

/// Those of `cases` that the backend can run, each name once; the others' shapes, once each, into
/// `untimed`. Ordered by pass, the order within a pass kept.
std::vector<CalibrationCase> runnable(std::vector<CalibrationCase> cases,
                                      const kernels::Backend& backend,
                                      std::vector<std::string>& untimed);

/// Rates that a rough guess of a case's time goes by.
struct RoughRates {
  double flops_per_s = 0;
  double bytes_per_s = 0;
};
/// Time of one call, to within a factor of a few: what a plan leaves out as too long.
double rough_call_s(const CalibrationCase& c, const RoughRates& rates);

}  // namespace roofcast
