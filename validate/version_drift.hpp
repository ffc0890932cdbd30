// How far versions of an engine differ on the same GPUs with the same layout and load. Pure
// arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/ledger.hpp"

namespace roofcast {

/// Runs of one setting (model, GPU, engine, format, layout, load) on dates at most this far apart
/// are compared.
inline constexpr int kDriftDays = 184;  // half a year

/// TPOT on the slowest over that on the fastest date, of settings that were measured on two or more
/// dates within half a year.
struct VersionDrift {
  std::string vendor{};     // of the GPU: "amd"
  std::string gpu{};        // hardware profile; empty: all of the vendor
  std::string engine{};     // without its version
  std::string half_year{};  // in which the later of the two runs was made: "2026-1"
  std::int64_t settings = 0;
  double median = 1;      // of the settings' largest ratios
  double largest = 1;     // of these ratios
  std::string setting{};  // which has the largest
  double predicted = 1;   // ratio that was predicted for the two runs of the largest
};

/// By vendor, engine and half-year, then also by GPU, of cases with a label `date` (2026-01-31) and
/// a mean or median TPOT. Settings are distinguished as by decision_runs.
std::vector<VersionDrift> version_drift(const std::vector<ComparedCase>& cases);

}  // namespace roofcast
