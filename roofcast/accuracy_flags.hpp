// The flags of questions about measurements: `validate` and `calibrate`.
#pragma once

#include <cstdint>
#include <string>

#include "planner/flags/scenario_flags.hpp"
#include "reports/importers/importer.hpp"
#include "roofcast/calibrate.hpp"
#include "roofcast/validate.hpp"

namespace roofcast {

/// by, threshold, price.
const Flags<ValidationQuestion>& validation_flags();

/// For benchmark results, which do not state everything: format, meta.
const Flags<ImportOptions>& result_flags();

/// The same: model, GPUs, engine, knobs and load.
const Flags<ScenarioOptions>& result_scenario_flags();

/// "h100=2.5,mi355x=3": adds to `prices`. Throws UsageError naming --price.
void read_prices(std::map<std::string, double>& prices, const std::string& text);

struct CalibrationOptions {
  CalibrationQuestion question{};
  bool quick = false;
  bool full = false;
  std::int64_t threads = 0;  // of the CPU; 0: one per core
  std::int64_t tensor_parallel = 1;
  std::string kv_cache_dtype{};  // empty, auto: the model's
};

/// device, quick, full, model, quantization, dtype, kv-cache-dtype, tensor-parallel-size, threads,
/// out, store, resume.
const Flags<CalibrationOptions>& calibration_flags();

/// Throws UsageError for options that contradict each other.
CalibrationQuestion calibration_question(const CalibrationOptions& options);

}  // namespace roofcast
