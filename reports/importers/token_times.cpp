#include "reports/importers/token_times.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/numbers.hpp"
#include "reports/importers/metric_rows.hpp"

namespace roofcast {
namespace {

// Releases of 2025 recorded two events per token, which halves their TPOT. Others agree with E2E,
// TTFT and length up to the error of a ratio of means when lengths vary.
constexpr double kTpotTolerance = 0.10;

void rename(MeasuredRun& run, const std::string& name, const std::string& other) {
  for (MetricRow& row : run.metrics) {
    if (row.name == name) row.name = other;
  }
}

}  // namespace

void check_token_times(MeasuredRun& run) {
  const auto told = find_metric(run, "tpot_s", "mean");
  const auto e2e = find_metric(run, "e2e_s", "mean");
  const auto ttft = find_metric(run, "ttft_s", "mean");
  const auto tokens = run.setting.mean_output_tokens;
  if (!told || !e2e || !ttft || !tokens || *tokens <= 1) return;
  const double defined = (*e2e - *ttft) / (*tokens - 1);
  if (std::abs(*told - defined) <= kTpotTolerance * defined) return;
  rename(run, "tpot_s", "reported_tpot_s");
  rename(run, "itl_s", "reported_itl_s");
  add_metric(run, "tpot_s", "mean", defined);
  run.warnings.push_back(
      fmt::format("the file's TPOT, {}, is not (E2E - TTFT) / (n - 1), which is {} and is used "
                  "instead; older releases counted two events per token",
                  as_time(Seconds{*told}), as_time(Seconds{defined})));
}

}  // namespace roofcast
