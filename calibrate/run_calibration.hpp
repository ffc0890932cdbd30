// Runs a calibration on an open device: plan, sweep, store, profile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/extent.hpp"
#include "calibrate/profile.hpp"
#include "kernels/backend.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

struct CalibrateOptions {
  ExtentKind extent = ExtentKind::model;
  std::string model;  // empty: one that suits the device, or generic shapes for ExtentKind::full
  std::optional<std::string> weight_format;
  std::optional<DType> kv_cache_dtype;
  int tensor_parallel = 1;
  std::string out;  // path; empty: the profile's name + ".json"
  std::string store_path = "roofcast.db";
  bool resume = false;
  std::string command_line;
};

struct CalibrateHooks {
  std::function<double()> now_s{};                   // a monotonic clock
  std::function<bool(int done, int total)> go_on{};  // returns false to interrupt
  std::function<void(const std::string&)> tell{};    // receives lines for the user
};

struct CalibrationOutcome {
  SweepResult sweep{};
  std::optional<Gpu> gpu{};            // unset: interrupted before its end
  bool known_gpu = false;              // its datasheet facts come from the catalogue
  std::string model{};                 // whose shapes were timed; empty: generic shapes
  std::vector<std::string> untimed{};  // shapes that no kernel here computes
  std::string out{};                   // path of the profile
  std::int64_t run_id = 0;
  std::int64_t stored_points = 0;
  std::int64_t resumed_points = 0;
  double elapsed_s = 0;
};

/// Throws Error before timing anything if the model, store or file cannot be used. If the device is
/// lost (SweepEnd::device_lost), writes a profile marked incomplete, or throws Error if too little
/// was timed; in either case all measurements are stored.
CalibrationOutcome run_calibration(kernels::Backend& backend, const CalibrateOptions& options,
                                   const CalibrateHooks& hooks);

}  // namespace roofcast
