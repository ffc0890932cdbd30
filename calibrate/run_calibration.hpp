// A calibration on an open device: plan, sweep, store, profile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/extent.hpp"
#include "calibrate/profile.hpp"
#include "planner/deploy.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

struct CalibrateOptions {
  ExtentKind extent = ExtentKind::model;
  std::string model;  // empty: one that suits the device, or the generic shapes of ExtentKind::full
  std::optional<std::string> weight_format;
  std::optional<DType> kv_cache_dtype;
  int tensor_parallel = 1;
  std::string out;  // empty: the profile's name + ".json"
  std::string store_path = "roofcast.db";
  bool resume = false;
  std::string command_line;
};

struct CalibrateHooks {
  std::function<double()> now_s{};                   // a clock that only grows
  std::function<bool(int done, int total)> go_on{};  // false: interrupted
  std::function<void(const std::string&)> tell{};    // a line for the user
};

struct CalibrationOutcome {
  SweepResult sweep{};
  std::optional<Gpu> gpu{};            // absent: interrupted before its end
  bool known_gpu = false;              // its datasheet facts are the catalogue's
  std::string model{};                 // whose shapes were timed; empty: generic ones
  std::vector<std::string> untimed{};  // shapes that no kernel here computes
  std::string out{};                   // the profile's file
  std::int64_t run_id = 0;
  std::int64_t stored_points = 0;
  std::int64_t resumed_points = 0;
  double elapsed_s = 0;
};

/// Throws Error for a model, store or file that cannot be used, before anything is timed. A device
/// that is lost on the way (SweepEnd::device_lost) leaves a profile marked incomplete, or an Error
/// where too little was timed for one; either way what was measured is stored.
CalibrationOutcome run_calibration(kernels::Backend& backend, const CalibrateOptions& options,
                                   const CalibrateHooks& hooks);

}  // namespace roofcast
