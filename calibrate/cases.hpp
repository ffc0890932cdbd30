// The sweep as a table: all cases of a calibration in the order in which they are timed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Bounds of the sizes.
struct CaseLimits {
  std::int64_t max_tokens = 8192;    // per step
  std::int64_t max_sequences = 256;  // decoding at once
  std::int64_t longest_context = 131072;
  double cached_bytes = 16e9;  // keys and values per call
  double message_bytes = 0;    // largest message of a collective
  int message_octaves = 1;     // spacing of message sizes
  bool every_source = true;    // false: only each family's preferred kernels
};

/// The cases for the operators of one rank of a deployment (its own N and K, heads and widths),
/// coarse before fine, the sources of each family consecutively. Leaves out operators that no
/// kernel here computes (a recurrent state's scan, quantised activations); collectives are in
/// collective_cases.hpp.
std::vector<CalibrationCase> model_cases(const Deployment& deployment,
                                         const kernels::Backend& backend, const CaseLimits& limits);

/// A grid over common shapes, for models that are not known yet.
std::vector<CalibrationCase> generic_cases(const kernels::Backend& backend,
                                           const CaseLimits& limits);

/// Device limits: copies from the cache's size to far beyond it, and an empty kernel. Always first.
std::vector<CalibrationCase> ceiling_cases(const kernels::Backend& backend,
                                           double memory_limit_bytes);

/// One large GEMM that is repeated to measure the device's drift. In the device's main 16-bit
/// format, else fp32.
CalibrationCase sentinel_case(const kernels::Backend& backend);

/// The `cases` that the backend can run, without duplicate names, ordered by pass with the order
/// within a pass kept. Shapes of the others are added to `untimed`, once each.
std::vector<CalibrationCase> runnable(std::vector<CalibrationCase> cases,
                                      const kernels::Backend& backend,
                                      std::vector<std::string>& untimed);

/// Rates for a rough estimate of a case's time.
struct RoughRates {
  double flops_per_s = 0;
  double bytes_per_s = 0;
};
/// Time of one call, within a factor of a few; used to leave out cases that take too long.
double rough_call_s(const CalibrationCase& c, const RoughRates& rates);

}  // namespace roofcast
